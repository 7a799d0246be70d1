#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include "tests/fuzz/pytorch_csv_input.hpp"

/// libFuzzer calls this with its inputs; an exception that leaves it is a finding.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const int model_copies : {1, 2}) {
    const std::string broken = lamina::fuzz::broken_promise(text, model_copies);
    if (!broken.empty()) {
      throw std::logic_error(broken);
    }
  }
  return 0;
}
