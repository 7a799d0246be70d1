// The fuzzer's seeds through the reader of the normal build.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

#include "tests/fuzz/pytorch_csv_input.hpp"
#include "tests/support/paths.hpp"

namespace lamina::schedule_tables {
namespace {

TEST(PyTorchCsvCorpus, IsAcceptedAndReadsBackTheSameOrIsRefusedWithAPlace) {
  const auto folder = tests::source_folder() / "tests" / "fuzz" / "corpus" / "pytorch_csv";
  int accepted = 0;
  int refused = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    SCOPED_TRACE(entry.path().filename());
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    for (const int model_copies : {1, 2}) {
      EXPECT_EQ(fuzz::broken_promise(text, model_copies), "");
      try {
        (void)read_pytorch_csv(text, "seed.csv", model_copies);
        ++accepted;
      } catch (const error::ScenarioError&) {
        ++refused;
      }
    }
  }
  EXPECT_GE(accepted, 10);
  EXPECT_GE(refused, 10);
}

}  // namespace
}  // namespace lamina::schedule_tables
