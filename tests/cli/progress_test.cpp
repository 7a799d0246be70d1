#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/command.hpp"

namespace lamina::cli_test {
namespace {

using testing::HasSubstr;
using testing::Not;

/// Every rank of 1024 replayed one by one: some seconds of work.
std::string long_scenario() {
  std::string text = small_scenario_with("data_parallel: 2", "data_parallel: 256");
  text.replace(text.find("nodes: 1"), 8, "nodes: 128");
  return text.replace(text.find("micro_batches: 4"), 16, "micro_batches: 8");
}

TEST(Progress, AppearsOnATerminalAfterASecondAndIsErased) {
  const TemporaryFolder folder;
  Invocation invocation;
  invocation.arguments = {"run", folder.file("long.yaml", long_scenario()), "--no-fold"};
  invocation.environment = {{"TERM", "xterm"}, {"NO_COLOR", "1"}};
  invocation.terminal = true;
  const Outcome outcome = run(invocation);
  EXPECT_EQ(outcome.code, 0) << outcome.out;
  const std::size_t shown = outcome.out.rfind("replaying file 1 of 1: long.yaml ...");
  ASSERT_NE(shown, std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("\r\033[K", shown), std::string::npos);  // erased before the report
}

TEST(Progress, IsSilentWithoutATerminalAndForShortWork) {
  const TemporaryFolder folder;
  const std::string file = folder.file("small.yaml", small_scenario());
  Invocation invocation;
  invocation.arguments = {"run", file};
  invocation.terminal = true;
  EXPECT_THAT(run(invocation).out, Not(HasSubstr("replaying")));
  EXPECT_THAT(lamina({"run", folder.file("long.yaml", long_scenario()), "--no-fold"}).err, testing::IsEmpty());
}

}  // namespace
}  // namespace lamina::cli_test
