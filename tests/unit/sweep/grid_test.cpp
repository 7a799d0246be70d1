#include "sim/sweep/grid.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/error/error.hpp"
#include "sim/pipeline/simulate.hpp"
#include "tests/support/paths.hpp"

namespace lamina::sweep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string kFile = R"(schema_version: 1
model: x32
cluster: {node: dgx-a100-80gb, network: infiniband-hdr, nodes: 8}
strategy: {global_batch: 64}
)";

scenario::Loader loader_of(const std::string& sweep) {
  return {kFile + sweep, "test.yaml", tests::source_folder() / "scenarios",
          pipeline::plugins_of(pipeline::builtin_catalogs())};
}

/// "1 2 4" for each point of the grid.
std::vector<std::string> points_of(const std::string& sweep) {
  const scenario::Loader loader = loader_of(sweep);
  const Grid grid(loader, loader.sweep());
  std::vector<std::string> result;
  for (std::int64_t i = 0; i < grid.size(); ++i) {
    std::string line;
    for (const std::string& text : grid.point(i).texts) {
      line += (line.empty() ? "" : " ") + text;
    }
    result.push_back(line);
  }
  return result;
}

error::ScenarioFault fault_of(const std::string& sweep) {
  try {
    (void)points_of(sweep);
  } catch (const error::ScenarioError& problem) {
    return problem.fault();
  }
  ADD_FAILURE() << "no fault";
  return {};
}

TEST(Grid, VariesTheLastAxisFastest) {
  EXPECT_THAT(points_of("sweep: {axes: {tp: [1, 2], pp: [1, 4]}}\n"), ElementsAre("1 1", "1 4", "2 1", "2 4"));
}

TEST(Grid, ZippedKeysAdvanceTogetherAndListedPointsComeAsTheyAre) {
  EXPECT_THAT(points_of("sweep: {zip: [{tp: [1, 2], pp: [4, 8]}], axes: {mbs: [1, 2]}}\n"),
              ElementsAre("1 4 1", "1 4 2", "2 8 1", "2 8 2"));
  EXPECT_THAT(points_of("sweep: {list: [{tp: 1}, {pp: 2, tp: 4}]}\n"), ElementsAre("1 ", "4 2"));
}

TEST(Grid, LeavesOutWhatAConditionExcludes) {
  EXPECT_THAT(points_of("sweep: {axes: {tp: [1, 2, 4], pp: [1, 2, 4]}, where: tp * pp == 4}\n"),
              ElementsAre("1 4", "2 2", "4 1"));
  EXPECT_THAT(points_of("sweep: {axes: {tp: [1, 2, 4]}, where: [tp > 1, tensor_parallel < 4]}\n"), ElementsAre("2"));
  EXPECT_THAT(points_of("sweep: {axes: {schedule: [gpipe, interleaved], pp: [1, 2]},"
                        " where: schedule != 'interleaved' or pp > 1}\n"),
              ElementsAre("gpipe 1", "gpipe 2", "interleaved 2"));
}

TEST(Grid, ConditionsKnowTheSizesOfModelClusterAndStrategy) {
  EXPECT_THAT(points_of("sweep: {axes: {pp: [1, 2, 3]}, where: layers % pp == 0 and devices == 64}\n"),
              ElementsAre("1", "2"));
  EXPECT_THAT(points_of("sweep: {axes: {model: [x32, x64]}, where: layers == 64}\n"), ElementsAre("x64"));
  EXPECT_THAT(points_of("sweep: {axes: {cluster.nodes: [4, 8], tp: [8]}, where: ranks * 4 == devices}\n"),
              ElementsAre("4 8"));
  // 64 sequences: global_batch / (micro_batch_size * data_parallel)
  EXPECT_THAT(points_of("sweep: {axes: {dp: [1, 2], mbs: [1, 4]}, where: micro_batches == 16}\n"), ElementsAre("1 4"));
  EXPECT_THAT(points_of("sweep: {axes: {micro_batches: [8, 16]}, where: global_batch == 16}\n"), ElementsAre("16"));
}

TEST(Grid, AnAxisMayFollowFromTheOthers) {
  EXPECT_THAT(points_of("sweep: {axes: {tp: [1, 2], dp: \"= devices / (tp * pp)\", pp: [1, 4]}}\n"),
              ElementsAre("1 64 1", "1 16 4", "2 32 1", "2 8 4"));
}

TEST(Grid, AComputedFractionMakesThePointInfeasible) {
  const scenario::Loader loader = loader_of("sweep: {axes: {pp: [3], dp: = 64 / pp}}\n");
  const Grid grid(loader, loader.sweep());
  EXPECT_THAT(grid.point(0).infeasible, HasSubstr("strategy.data_parallel = 64 / pp is 21.3333, no whole number"));
}

TEST(Grid, AComputedQuantityCountsInSiUnits) {
  EXPECT_THAT(points_of("sweep: {axes: {tp: [1, 2], cluster.network.bandwidth: = tp * 25e9}}\n"),
              ElementsAre("1 25000000000 B/s", "2 50000000000 B/s"));
}

TEST(Grid, DivisionByZeroKeepsThePointAndSaysWhy) {
  const scenario::Loader zero = loader_of("sweep: {axes: {tp: [1]}, where: 1 / vocabulary > 0}\n");
  const Grid grid(zero, zero.sweep());
  EXPECT_THAT(grid.point(0).infeasible, HasSubstr("division by zero"));
}

TEST(Grid, ValuesThatFollowFromEachOtherAreAFault) {
  EXPECT_THAT(fault_of("sweep: {axes: {tp: = pp, pp: = tp}, where: tp > 0}\n").problem, HasSubstr("circle"));
  EXPECT_THAT(fault_of("sweep: {axes: {tp: = pp, pp: = tp}}\n").problem, HasSubstr("circle"));
  EXPECT_THAT(fault_of("sweep: {axes: {tp: = devices / (tp * pp)}}\n").problem, HasSubstr("circle"));
}

TEST(Grid, SizesAreThoseOfThePointAlsoWhereTheyAreComputed) {
  // 4 and 8 nodes of 8 devices: 32 and 64 devices shared by tp ranks each.
  EXPECT_THAT(points_of("sweep: {axes: {tp: [1, 2], cluster.nodes: = 4 * tp, dp: = devices / tp}}\n"),
              ElementsAre("1 4 32", "2 8 32"));
  EXPECT_THAT(fault_of("sweep: {axes: {cluster.nodes: = devices / 8}}\n").problem, HasSubstr("circle"));
}

TEST(Grid, ASizeIsNotTheAxisThatEndsInItsName) {
  // 8 nodes of 8 or 16 devices; cluster.node.devices is devices_per_node.
  EXPECT_THAT(points_of("sweep: {axes: {cluster.node.devices: [8, 16], dp: = devices}}\n"),
              ElementsAre("8 64", "16 128"));
}

TEST(Grid, TwoBatchesOfOnePointContradictEachOther) {
  const scenario::Loader loader =
      loader_of("sweep: {axes: {strategy.micro_batches: [2], strategy.global_batch: [64]}}\n");
  const Grid grid(loader, loader.sweep());
  EXPECT_THROW((void)loader.load(grid.point(0).changes), error::ScenarioError);
}

TEST(Grid, ConditionsThatNothingMeetsAreAFaultWithCounts) {
  const auto fault = fault_of("sweep: {axes: {tp: [1, 2]}, where: [tp > 1, tp < 2]}\n");
  EXPECT_THAT(fault.problem, HasSubstr("None of the 2 combinations"));
  EXPECT_THAT(fault.read, HasSubstr("\"tp > 1\" excludes 1"));
}

TEST(Grid, TooManyPointsOrCombinationsAreAFaultWithTheNumber) {
  EXPECT_THAT(fault_of("sweep: {axes: {mbs: {from: 1, to: 1000, step: 1}, dp: {from: 1, to: 200, step: 1}}}\n").problem,
              HasSubstr("more than 100,000 points"));
  EXPECT_THAT(fault_of("sweep: {limit: 1, axes: {tp: [1, 2]}}\n").key, "sweep.limit");
  EXPECT_THAT(
      fault_of("sweep: {axes: {mbs: {from: 1, to: 90000, step: 1}, dp: {from: 1, to: 90000, step: 1}}}\n").problem,
      HasSubstr("8,100,000,000 combinations"));
}

}  // namespace
}  // namespace lamina::sweep
