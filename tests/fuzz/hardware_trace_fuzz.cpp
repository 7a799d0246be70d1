#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include "tests/fuzz/trace_input.hpp"

/// libFuzzer calls this with its inputs; an exception that leaves it is a finding.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string broken =
      lamina::fuzz::broken_stream_promise(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!broken.empty()) {
    throw std::logic_error(broken);
  }
  return 0;
}
