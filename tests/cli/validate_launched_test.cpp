#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/launched.hpp"

/// The cpu back end in processes that a launcher has started: here by hand, with its variables, on one machine.
namespace lamina::cli_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(ValidateLaunched, OnlySocketsReachOtherMachines) {
  for (const char* transport : {"memory", "ethernet"}) {
    const Outcome outcome = run_rank(0, tests::free_port(), {"--transport", transport});
    EXPECT_EQ(outcome.code, 4) << outcome.out;
    EXPECT_THAT(outcome.err, HasSubstr("choose --transport tcp"));
  }
}

TEST(ValidateLaunched, AnotherNumberOfProcessesIsRefused) {
  const Outcome outcome = run_rank(0, tests::free_port(), {"--transport", "tcp"}, {{"WORLD_SIZE", "3"}});
  EXPECT_EQ(outcome.code, 6);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("3 processes"), HasSubstr("scenario of 2 ranks")));
}

}  // namespace
}  // namespace lamina::cli_test
