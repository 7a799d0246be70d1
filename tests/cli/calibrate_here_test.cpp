#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/command.hpp"
#include "tests/support/paths.hpp"

/// What `lamina calibrate` refuses before it measures this machine.
namespace lamina::cli_test {
namespace {

using testing::HasSubstr;

TEST(CalibrateHere, RefusesWhatItCannotMeasureWithAReason) {
  EXPECT_EQ(lamina({"calibrate", "--seconds", "0"}).code, 2);
  EXPECT_EQ(lamina({"calibrate", "--scratch", "no-such-folder"}).code, 2);
  EXPECT_EQ(lamina({"calibrate", "--tensor-parallel", "0"}).code, 2);
  const Outcome taken = lamina({"calibrate", "--name", "cpu-core"});
  EXPECT_EQ(taken.code, 2);
  EXPECT_THAT(taken.err, HasSubstr("name of its own"));
  const Outcome model = lamina({"calibrate", "--model", "gpt3-175c"});
  EXPECT_EQ(model.code, 3);
  EXPECT_THAT(model.err, HasSubstr("gpt3-175b"));
  EXPECT_EQ(lamina({"calibrate", "--model", "gpt3-175b", "--tensor-parallel", "7"}).code, 3) << "96 heads";
}

TEST(CalibrateHere, SaysWhereThePlugInIsMissing) {
  const TemporaryFolder folder;
  Invocation invocation;
  invocation.program = (folder.path() / "lamina").string();
  std::filesystem::copy_file(tests::command(), invocation.program);
  invocation.arguments = {"calibrate", "--seconds", "1"};
  invocation.environment = {{"LAMINA_CATALOGUE", (tests::source_folder() / "scenarios").string()}};
  const Outcome outcome = run(invocation);
  EXPECT_EQ(outcome.code, 6) << outcome.out;
  EXPECT_THAT(outcome.err, HasSubstr("lamina_onednn.so is not in"));
}

}  // namespace
}  // namespace lamina::cli_test
