#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/command.hpp"

namespace lamina::cli_test {
namespace {

using testing::HasSubstr;
using testing::Not;

// Each depth-first round pays the bubble of a whole pass: (p - 1) / (m K) would be too little.
TEST(ExplainSchedule, GivesNoClosedFormForRoundsThatDrainThePipeline) {
  const TemporaryFolder folder;
  const std::string file = folder.file("small.yaml", small_scenario());
  const Outcome rounds = lamina({"explain", file, "--set", "strategy.schedule=hybrid"});
  EXPECT_EQ(rounds.code, 0) << rounds.err;
  EXPECT_THAT(rounds.out, HasSubstr("bubble: no closed form for this schedule"));
  const Outcome one_pass = lamina({"explain", file, "--set", "strategy.schedule=interleaved"});
  EXPECT_EQ(one_pass.code, 0) << one_pass.err;
  EXPECT_THAT(one_pass.out, HasSubstr("(p - 1) / (m K)"));
  EXPECT_THAT(one_pass.out, Not(HasSubstr("no closed form")));
}

}  // namespace
}  // namespace lamina::cli_test
