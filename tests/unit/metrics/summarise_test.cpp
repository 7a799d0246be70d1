#include "sim/metrics/summarise.hpp"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/metrics/training.hpp"
#include "tests/unit/metrics/tiny_step.hpp"

namespace lamina::metrics {
namespace {

using graph::Traffic;
using metrics::testing::TinyStep;

constexpr double kPeak = 100;  // FLOPs per second

/// GPipe on `ranks` stages of one device each that run at half their peak.
struct Example {
  explicit Example(int ranks = 4, int micro_batches = 8) : tiny(testing::gpipe(ranks, micro_batches, 1, 2)) {
    scenario.model.sequence_length = 16;
    scenario.strategy.pipeline_parallel = ranks;
    scenario.strategy.micro_batches = micro_batches;
    scenario.strategy.schedule.name = "gpipe";
    scenario.cluster.nodes = 1;
    scenario.cluster.node.devices = ranks;
    scenario.cluster.node.accelerator.memory = Bytes(1000);
    work.layers = ranks;
    work.peak = FlopsPerSecond(kPeak);
    for (int rank = 0; rank < ranks; ++rank) {
      for (graph::Operation& operation : tiny.program(rank).operations) {
        operation.flops = 0.5 * kPeak * operation.duration_s;
      }
    }
    // 3/4 of the FLOPs that run are the model's, the others recomputation.
    const double flops = 0.5 * kPeak * 3 * ranks * micro_batches;
    work.model_flops_per_token = Flops(0.75 * flops / tokens_per_step(scenario));
    work.hardware_flops_per_token = Flops(flops / tokens_per_step(scenario));
  }

  report::Report report() { return summarise(scenario, work, tiny.graph, tiny.deployment, fabric, tiny.timeline); }

  TinyStep tiny;
  scenario::Scenario scenario;
  model::WorkModel work;
  fabric::Fabric fabric;
};

TEST(Summary, OfGPipeAtHalfOfPeakHasTheEfficiencyOfTheFormula) {
  Example example;
  example.tiny.finish();
  const report::Report report = example.report();
  EXPECT_DOUBLE_EQ(report.step_s, 33);
  EXPECT_DOUBLE_EQ(report.ideal_compute_s, 12);  // 8 (1 + 2) s at half of the peak
  EXPECT_DOUBLE_EQ(report.efficiency, 12.0 / 33.0);
  EXPECT_DOUBLE_EQ(report.hardware_flop_utilisation, 12.0 / 33.0);  // all stages are equal
  EXPECT_DOUBLE_EQ(report.model_flop_utilisation, 0.75 * 12.0 / 33.0);
  EXPECT_DOUBLE_EQ(report.tokens_per_step, 8 * 16);
  EXPECT_DOUBLE_EQ(report.tokens_per_s, 8 * 16 / 33.0);
  EXPECT_DOUBLE_EQ(report.sequences_per_s, 8 / 33.0);
  EXPECT_NEAR(report.bubble_makespan_fraction, 9.0 / 33.0, 1e-12);
  EXPECT_EQ(report.critical_role, 0) << "the first stage ends the last backward";
  EXPECT_DOUBLE_EQ(report.critical_role_times.tail_s, 0);
  EXPECT_EQ(report.roles.size(), 4U);
  EXPECT_EQ(report.scenario, &example.scenario);
  EXPECT_EQ(report.schedule, "gpipe");
  EXPECT_TRUE(report.warnings.empty());
  EXPECT_FALSE(report.training.has_value());
}

TEST(Summary, OfAModelWithoutFlopsUsesComputeTimeAndKnowsNoUtilisation) {
  Example example;
  example.tiny.finish();
  example.work.peak = FlopsPerSecond(0);
  const report::Report report = example.report();
  EXPECT_DOUBLE_EQ(report.efficiency, 24.0 / 33.0);
  EXPECT_TRUE(std::isnan(report.model_flop_utilisation));
  EXPECT_TRUE(std::isnan(report.hardware_flop_utilisation));
}

TEST(Summary, SaysWhichRoleDoesNotFit) {
  Example example;
  example.tiny.program(2).initial_memory[0] = 900;
  example.tiny.program(2).memory_effects = {{1, false, graph::MemoryCategory::kCheckpoints, 200},  // its first forward
                                            {1, true, graph::MemoryCategory::kCheckpoints, -200}};
  example.tiny.finish();
  report::Report report = example.report();
  EXPECT_FALSE(report.fits);
  EXPECT_THAT(report.why_not, ::testing::HasSubstr("rank 2"));
  EXPECT_DOUBLE_EQ(report.memory.peak_bytes, 1100);
  EXPECT_DOUBLE_EQ(report.memory_capacity_bytes, 1000);
  EXPECT_DOUBLE_EQ(report.roles[0].memory.peak_bytes, 0);
  example.scenario.cluster.node.accelerator.memory = Bytes(1100);
  report = example.report();
  EXPECT_TRUE(report.fits);
  EXPECT_EQ(report.why_not, "");
}

TEST(Summary, WarnsOfIdleDevicesAndStallingLoops) {
  Example example(4, 2);
  example.tiny.program(3).operations.back().stage = 7;  // a second loop
  example.scenario.cluster.nodes = 2;
  example.tiny.finish();
  const report::Report report = example.report();
  EXPECT_THAT(report.warnings, ::testing::ElementsAre(::testing::HasSubstr("4 stay idle"),
                                                      ::testing::HasSubstr("2 micro-batches are fewer than 4")));
  EXPECT_DOUBLE_EQ(report.devices, 4);
  EXPECT_DOUBLE_EQ(report.cluster_devices, 8);
}

TEST(Summary, LetsTheClassThatComputesLongestSpeakForItsRole) {
  Example example(1, 2);
  example.tiny.finish();
  auto& ranks = example.tiny.deployment.ranks;
  ranks[0].multiplicity = 7;
  ranks.push_back(ranks[0]);
  ranks[1].multiplicity = 1;
  example.tiny.deployment.total_ranks = 8;
  example.tiny.timeline.spans.push_back(example.tiny.timeline.spans[0]);
  for (timeline::Span& span : example.tiny.timeline.spans[1]) {  // half as fast
    span.start *= 2;
    span.end *= 2;
  }
  example.tiny.timeline.end_s *= 2;
  const report::Report report = example.report();
  ASSERT_EQ(report.roles.size(), 1U);
  EXPECT_DOUBLE_EQ(report.roles[0].ranks, 8);
  EXPECT_DOUBLE_EQ(report.roles[0].times.compute_s, 12);
  EXPECT_DOUBLE_EQ(report.roles[0].times.tail_s, 0);
  EXPECT_DOUBLE_EQ(report.hardware_flop_utilisation, 0.25) << "eight devices at half of peak for half of the step";
  EXPECT_EQ(report.simulated_ranks, 2);
}

TEST(Summary, DoesNotCallMessageFormFolded) {
  Example example;
  example.tiny.finish();
  EXPECT_TRUE(example.report().folded);
  example.scenario.simulation.collective_form = scenario::CollectiveForm::kMessage;
  EXPECT_FALSE(example.report().folded);
}

TEST(Summary, FillsTheReference) {
  Example example;
  example.tiny.finish();
  scenario::ReferenceValue value;
  value.name = "step.time_s";
  value.value = 32.5;
  value.tolerance = 0.02;
  example.scenario.reference.emplace().values.push_back(value);
  const report::Report report = example.report();
  ASSERT_EQ(report.reference.size(), 1U);
  EXPECT_DOUBLE_EQ(report.reference[0].measured, 33);
  EXPECT_TRUE(report.reference[0].agrees);
}

TEST(TrainingTime, IsStepsTimesStepTime) {
  scenario::Scenario scenario;
  scenario.training.emplace().steps = 1e5;
  std::vector<std::string> warnings;
  const auto result = training(scenario, {}, 8.64, 100, warnings).value();
  EXPECT_DOUBLE_EQ(result.days, 10);
  EXPECT_DOUBLE_EQ(result.device_days, 1000);
  EXPECT_DOUBLE_EQ(result.critical_batch_sequences, 0);
  EXPECT_EQ(result.batch_law, "");
  EXPECT_TRUE(warnings.empty());
}

TEST(TrainingTime, FollowsFromTokens) {
  scenario::Scenario scenario;
  scenario.model.sequence_length = 2048;
  scenario.strategy.data_parallel = 4;
  scenario.strategy.micro_batches = 8;
  scenario.training.emplace().tokens = 2048.0 * 4 * 8 * 1000;
  std::vector<std::string> warnings;
  const auto result = training(scenario, {}, 86.4, 1, warnings).value();
  EXPECT_DOUBLE_EQ(result.steps, 1000);
  EXPECT_DOUBLE_EQ(result.days, 1);
}

// Critical batch of X_160 by 573 p^(1/3) tokens (arXiv 2106.02679): p = 12 x 160^5, s = 16 x 160, hence 2416.4
// sequences.
TEST(TrainingTime, WarnsAboveTheCriticalBatch) {
  scenario::Scenario scenario;
  scenario.model.sequence_length = 2560;
  scenario.strategy.data_parallel = 2416;
  scenario.training.emplace().steps = 1;
  scenario.training->batch_law = scenario::BatchLaw::kLayeredModular2021;
  model::WorkModel work;
  work.parameters = 12 * std::pow(160.0, 5);
  std::vector<std::string> warnings;
  const auto below = training(scenario, work, 1, 1, warnings).value();
  EXPECT_NEAR(below.critical_batch_sequences, 2416.4, 1);
  EXPECT_TRUE(warnings.empty());
  scenario.strategy.data_parallel = 2420;
  (void)training(scenario, work, 1, 1, warnings);
  EXPECT_THAT(warnings, ::testing::ElementsAre(::testing::HasSubstr("2420")));
}

}  // namespace
}  // namespace lamina::metrics
