#include <future>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/cli/launched.hpp"

/// The cpu back end in processes that a launcher has started: here by hand, with its variables, on one machine.
namespace lamina::cli_test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

std::vector<Outcome> run_both(const std::vector<std::string>& first, const std::vector<std::string>& second) {
  const int port = tests::free_port();
  auto other = std::async(std::launch::async, [&] { return run_rank(1, port, second); });
  Outcome own = run_rank(0, port, first);
  return {std::move(own), other.get()};
}

TEST(ValidateLaunched, RanksOfALauncherRunOneStepAndTheFirstTells) {
  for (const char* layout : {"strategy.schedule=zero_bubble_h1",
                             "strategy={pipeline_parallel: 1, data_parallel: 2, micro_batches: 4, schedule: gpipe}"}) {
    const std::vector<std::string> arguments = {"--transport", "tcp", "--set", layout};
    const std::vector<Outcome> outcomes = run_both(arguments, arguments);
    ASSERT_EQ(outcomes[0].code, 0) << outcomes[0].err;
    EXPECT_EQ(outcomes[1].code, 0) << outcomes[1].err;
    EXPECT_THAT(outcomes[1].out, IsEmpty());
    const auto document = nlohmann::json::parse(outcomes[0].out);
    EXPECT_EQ(document.at("backend"), "cpu, TCP between processes of a launcher");
    EXPECT_GT(document.at("step").at("measured_s").get<double>(), 0);
  }
}

TEST(ValidateLaunched, DifferentScenariosAreRefused) {
  const std::vector<Outcome> outcomes =
      run_both({"--transport", "tcp"}, {"--transport", "tcp", "--set", "strategy.micro_batches=8"});
  EXPECT_EQ(outcomes[0].code, 6);
  EXPECT_THAT(outcomes[0].err, HasSubstr("rank 1: it runs another scenario"));
  EXPECT_EQ(outcomes[1].code, 6);
}

}  // namespace
}  // namespace lamina::cli_test
