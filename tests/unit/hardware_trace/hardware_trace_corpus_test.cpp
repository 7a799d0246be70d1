// The fuzzers' seeds through the readers of the normal build.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "tests/fuzz/trace_input.hpp"
#include "tests/support/paths.hpp"

namespace lamina::validate::hardware_trace {
namespace {

struct Verdicts {
  int accepted = 0;
  int refused = 0;
};

template <class Broken>
Verdicts judge(const std::string& name, Broken broken) {
  Verdicts verdicts;
  const auto folder = tests::source_folder() / "tests" / "fuzz" / "corpus" / name;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    SCOPED_TRACE(entry.path().filename());
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    bool is_accepted = false;
    EXPECT_EQ(broken(bytes, &is_accepted), "");
    const std::string seed = entry.path().filename().string();
    if (seed.rfind("bad_", 0) == 0) {
      EXPECT_FALSE(is_accepted);
      ++verdicts.refused;
    } else if (seed.rfind("good_", 0) == 0) {
      EXPECT_TRUE(is_accepted);
      ++verdicts.accepted;
    }
  }
  return verdicts;
}

TEST(HardwareTraceCorpus, IsAcceptedWhereItIsGoodAndRefusedWhereItIsBad) {
  const Verdicts verdicts = judge("hardware_trace", fuzz::broken_stream_promise);
  EXPECT_GE(verdicts.accepted, 7);
  EXPECT_GE(verdicts.refused, 20);
}

TEST(NsightCorpus, IsAcceptedWhereItIsGoodAndRefusedWhereItIsBad) {
  const Verdicts verdicts = judge("nsight", fuzz::broken_nsight_promise);
  EXPECT_GE(verdicts.accepted, 2);
  EXPECT_GE(verdicts.refused, 8);
}

}  // namespace
}  // namespace lamina::validate::hardware_trace
