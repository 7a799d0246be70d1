#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/command.hpp"

namespace lamina::cli_test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr int kScenario = 3;
constexpr int kInfeasible = 4;

/// One piece of the small scenario replaced by something wrong.
struct Wrong {
  std::string name;
  std::string before;
  std::string after;
  std::string message;
};

class WrongScenario : public testing::TestWithParam<Wrong> {};

TEST_P(WrongScenario, GivesOneClearMessageAndCodeThree) {
  const TemporaryFolder folder;
  const std::string file = folder.file("wrong.yaml", small_scenario_with(GetParam().before, GetParam().after));
  for (const char* command : {"run", "check", "explain"}) {
    const Outcome outcome = lamina({command, file});
    EXPECT_EQ(outcome.code, kScenario) << command << ": " << outcome.err;
    EXPECT_THAT(outcome.out, IsEmpty()) << command;
    EXPECT_THAT(outcome.err, HasSubstr(file)) << command;
    EXPECT_THAT(outcome.err, HasSubstr(GetParam().message)) << command;
  }
}

Wrong bandwidth(std::string name, const std::string& value) {
  return {std::move(name), "network: infiniband-hdr", "network: {base: infiniband-hdr, bandwidth: " + value + "}",
          "bandwidth"};
}

Wrong micro_batches(std::string name, const std::string& value) {
  return {std::move(name), "micro_batches: 4", "micro_batches: " + value, "micro_batches"};
}

INSTANTIATE_TEST_SUITE_P(
    Cases, WrongScenario,
    testing::Values(Wrong{"YamlSyntax", "nodes: 1", "nodes: [1", "wrong.yaml:"},
                    Wrong{"UnknownKey", "micro_batches: 4", "mirco_batches: 4", "micro_batches"},
                    Wrong{"MissingKey", "schema_version: 1\n", "", "schema_version"},
                    Wrong{"UnknownVersion", "schema_version: 1", "schema_version: 99", "schema_version"},
                    Wrong{"UnknownModel", "model: x32", "model: gtp3", "gtp3"},
                    Wrong{"UnknownNode", "node: dgx-a100-80gb", "node: dgx-a100-80g", "dgx-a100-80gb"},
                    Wrong{"UnknownNetwork", "network: infiniband-hdr", "network: infiniband-hrd", "infiniband-hdr"},
                    Wrong{"UnknownSchedule", "schedule: layered_modular", "schedule: layered_modullar",
                          "layered_modular"},
                    bandwidth("WrongUnit", "5 us"), bandwidth("BareNumber", "25"), bandwidth("Negative", "-25 GB/s"),
                    bandwidth("Zero", "0 GB/s"), bandwidth("NotANumber", "nan GB/s"), bandwidth("Infinite", "inf GB/s"),
                    bandwidth("Vanishing", "1e-300 B/s"), micro_batches("NegativeCount", "-4"),
                    micro_batches("ZeroCount", "0"), micro_batches("FractionalCount", "2.5"),
                    micro_batches("NotANumberCount", ".nan"), micro_batches("InfiniteCount", ".inf"),
                    micro_batches("HugeCount", "99999999999999999999"),
                    Wrong{"WrongType", "strategy:\n", "strategy: 5\nstrategies:\n", "strateg"},
                    Wrong{"NoNodes", "nodes: 1", "nodes: 0", "nodes"}),
    [](const auto& test) { return test.param.name; });

/// Faults that show only once the parts are put together: refused (3) or cannot run (4), never a crash.
class UnfittingScenario : public testing::TestWithParam<Wrong> {};

TEST_P(UnfittingScenario, IsRefusedWithTheNumbers) {
  const TemporaryFolder folder;
  const std::string file = folder.file("wrong.yaml", small_scenario_with(GetParam().before, GetParam().after));
  const Outcome outcome = lamina({"run", file});
  EXPECT_THAT(outcome.code, testing::AnyOf(kScenario, kInfeasible)) << outcome.err;
  EXPECT_THAT(outcome.out, IsEmpty());
  EXPECT_THAT(outcome.err, HasSubstr(file));
  EXPECT_THAT(outcome.err, HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(Cases, UnfittingScenario,
                         testing::Values(Wrong{"LayersDoNotDivide", "  pipeline_parallel: 2\n  tensor_parallel: 2",
                                               "  pipeline_parallel: 3\n  tensor_parallel: 1", "32 layers"},
                                         Wrong{"MoreRanksThanDevices", "data_parallel: 2", "data_parallel: 64", "256"},
                                         Wrong{"HeadsDoNotDivide",
                                               "data_parallel: 2\n  pipeline_parallel: 2\n  tensor_parallel: 2",
                                               "tensor_parallel: 3", "3"}),
                         [](const auto& test) { return test.param.name; });

TEST(Check, GoesOnAfterAFaultAndKeepsItsCode) {
  const TemporaryFolder folder;
  const std::string wrong = folder.file("a.yaml", small_scenario_with("nodes: 1", "nodes: 0"));
  const std::string right = folder.file("b.yaml", small_scenario());
  const Outcome outcome = lamina({"check", wrong, right});
  EXPECT_EQ(outcome.code, kScenario);
  EXPECT_THAT(outcome.err, HasSubstr(wrong));
  EXPECT_THAT(outcome.out, testing::StartsWith(right + ": valid"));
}

TEST(Run, FindsAFaultOfTheLastFileBeforeItRunsTheFirst) {
  const TemporaryFolder folder;
  const std::string right = folder.file("a.yaml", small_scenario());
  const std::string wrong = folder.file("b.yaml", small_scenario_with("nodes: 1", "nodes: 0"));
  const Outcome outcome = lamina({"run", right, wrong});
  EXPECT_EQ(outcome.code, kScenario);
  EXPECT_THAT(outcome.out, IsEmpty());
}

}  // namespace
}  // namespace lamina::cli_test
