#include "validate/compare.hpp"


#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/error/error.hpp"
#include "sim/pipeline/simulate.hpp"
#include "tests/support/two_stages.hpp"
#include "validate/execute.hpp"
#include "validate/virtual_backend.hpp"

namespace lamina::validate {
namespace {

constexpr double kDelay = 1e-2;

Execution executed(const pipeline::Prepared& prepared) {
  const auto backend = make_virtual_backend(prepared.graph, prepared.deployment);
  return execute(prepared.graph, prepared.deployment, issue_order(prepared.graph), *backend);
}

/// The same step on devices that compute `factor` times as long.
Execution slow(const pipeline::Prepared& prepared, double factor) {
  pipeline::Prepared slower = prepared;
  for (deployment::Rank& rank : slower.deployment.ranks) {
    rank.slowness = factor;
  }
  return executed(slower);
}

report::Validation compared(const pipeline::Prepared& prepared, const std::vector<Execution>& executions) {
  return compare(prepared.graph, prepared.deployment, executions, {});
}

TEST(Compare, FindsNoErrorInAnExecutionOfThePrediction) {
  const pipeline::Prepared prepared = tests::two_stages(kDelay);
  const report::Validation validation = compared(prepared, {executed(prepared)});
  EXPECT_NEAR(validation.error(), 0, 1e-9);
  EXPECT_NEAR(validation.structural_error(), 0, 1e-9);
  EXPECT_EQ(validation.reordered, 0);
  EXPECT_EQ(validation.ranks, 2);
  EXPECT_EQ(validation.rank_rows.size(), 2U);
}

TEST(Compare, TellsSlowKernelsFromAWrongStructure) {
  // All compute (1 + 1 + 2 + 2 s) takes twice as long: the model is wrong by half, the structure is not.
  const pipeline::Prepared prepared = tests::two_stages(kDelay);
  const report::Validation validation = compared(prepared, {slow(prepared, 2)});
  EXPECT_NEAR(validation.measured_s, 12 + 2 * kDelay, 1e-9);
  EXPECT_NEAR(validation.error(), (6 + 2 * kDelay) / (12 + 2 * kDelay) - 1, 1e-9);
  EXPECT_NEAR(validation.structural_error(), 0, 1e-9);
  for (const report::DurationRow& row : validation.durations) {
    EXPECT_NEAR(row.measured_s / row.predicted_s, row.kind == "message" ? 1 : 2, 1e-9) << row.kind;
  }
}

TEST(Compare, SeesStructureThatTheReplayDoesNotHave) {
  // Every message takes a second longer than modelled; kernels are as predicted.
  const pipeline::Prepared prepared = tests::two_stages(kDelay);
  pipeline::Prepared late = prepared;
  for (deployment::Path& path : late.deployment.paths) {
    path.latency_s += 1;
  }
  const report::Validation validation = compared(prepared, {executed(late)});
  EXPECT_NEAR(validation.measured_s, 8 + 2 * kDelay, 1e-9);
  EXPECT_NEAR(validation.structural_error(), (6 + 2 * kDelay) / (8 + 2 * kDelay) - 1, 1e-9);
}

TEST(Compare, TakesTheMedianOfTheRepeats) {
  const pipeline::Prepared prepared = tests::two_stages(kDelay);
  const report::Validation validation = compared(prepared, {slow(prepared, 3), slow(prepared, 1), slow(prepared, 2)});
  EXPECT_EQ(validation.repeats, 3);
  EXPECT_NEAR(validation.measured_s, 12 + 2 * kDelay, 1e-9);
  EXPECT_NEAR(validation.measured_least_s, 6 + 2 * kDelay, 1e-9);
  EXPECT_NEAR(validation.measured_most_s, 18 + 2 * kDelay, 1e-9);
}

TEST(Compare, ListsOperationsThatBeganInAnotherOrder) {
  const pipeline::Prepared prepared = tests::two_stages(kDelay);
  Execution swapped = executed(prepared);
  auto& spans = swapped.timeline.spans[0];
  const auto& operations = prepared.graph.programs[0].operations;
  for (std::size_t i = 0; i < spans.size(); ++i) {  // the forward after everything else
    if (operations[i].kind == graph::OperationKind::kCompute && operations[i].phase == graph::Phase::kForward) {
      spans[i] = {swapped.timeline.end_s - 1e-3, swapped.timeline.end_s};
    }
  }
  const report::Validation validation = compared(prepared, {swapped});
  EXPECT_GT(validation.reordered, 0);
  EXPECT_THAT(validation.reorderings, testing::Contains(testing::HasSubstr("forward")));
}

TEST(Compare, RefusesAnExecutionOfOtherRanks) {
  const pipeline::Prepared prepared = tests::two_stages(kDelay);
  Execution short_one = executed(prepared);
  short_one.timeline.spans.pop_back();
  EXPECT_THROW((void)compared(prepared, {short_one}), error::InternalError);
  EXPECT_THROW((void)compared(prepared, {}), error::InternalError);
}

}  // namespace
}  // namespace lamina::validate
