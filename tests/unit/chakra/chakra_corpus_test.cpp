// The fuzzer's seeds through the reader of the normal build.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

#include "tests/fuzz/chakra_input.hpp"
#include "tests/support/paths.hpp"

namespace lamina::chakra {
namespace {

TEST(ChakraCorpus, IsAcceptedWhereItIsGoodAndRefusedWhereItIsBad) {
  const auto folder = tests::source_folder() / "tests" / "fuzz" / "corpus" / "chakra";
  int accepted = 0;
  int refused = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    SCOPED_TRACE(entry.path().filename());
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    bool is_accepted = false;
    EXPECT_EQ(fuzz::broken_chakra_promise(text, &is_accepted), "");
    const std::string name = entry.path().filename().string();
    if (name.rfind("bad_", 0) == 0) {
      EXPECT_FALSE(is_accepted);
      ++refused;
    } else if (name.rfind("good_", 0) == 0) {
      EXPECT_TRUE(is_accepted);
      ++accepted;
    }
  }
  EXPECT_GE(accepted, 5);
  EXPECT_GE(refused, 8);
}

}  // namespace
}  // namespace lamina::chakra
