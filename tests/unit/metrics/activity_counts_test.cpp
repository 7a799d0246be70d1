#include "sim/metrics/activity_counts.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "tests/support/uniform_pipeline.hpp"
#include "tests/unit/metrics/tiny_step.hpp"

namespace lamina::metrics {
namespace {

/// The report of a uniform pipeline under `schedule`; `change` may set parameters.
template <class Change>
report::Report replayed(scenario::Scenario& scenario, const std::string& schedule, Change change) {
  const pipeline::Catalogs catalogs = pipeline::builtin_catalogs();
  scenario.strategy.schedule = tests::usual_schedule(catalogs, schedule);
  change(scenario.strategy.schedule.parameters);
  auto result = pipeline::simulate(scenario, catalogs);
  if (!result) {
    throw std::runtime_error(result.error().reason);
  }
  return result->report;
}

report::Report replayed(scenario::Scenario& scenario, const std::string& schedule) {
  return replayed(scenario, schedule, [](catalog::Parameters&) {});
}

TEST(PeakActivations, OfATinyGPipeAreAllItsMicroBatches) {
  auto tiny = testing::gpipe(3, 5, 1, 2);
  tiny.finish();
  for (const double peak : peak_activations(tiny.step(), 3)) {
    EXPECT_DOUBLE_EQ(peak, 5);
  }
}

TEST(PeakActivations, DoNotCountWhatEndsWhenTheNextStarts) {
  testing::TinyStep tiny(1);
  for (int micro_batch = 0; micro_batch < 3; ++micro_batch) {
    for (const graph::Phase phase : {graph::Phase::kForward, graph::Phase::kBackward}) {
      const auto id = tiny.compute(0, 0.1, {}, phase);
      graph::Operation& operation = tiny.program(0).operations[id];
      operation.stage = 0;
      operation.layer = 0;
      operation.micro_batch = micro_batch;
    }
  }
  tiny.finish();
  EXPECT_DOUBLE_EQ(peak_activations(tiny.step(), 1).front(), 1);
}

TEST(PeakActivations, LastUntilTheWeightGradient) {
  testing::TinyStep tiny(1);
  const auto add = [&tiny](int micro_batch, graph::Phase phase) {
    const auto id = tiny.compute(0, 1, {}, phase);
    graph::Operation& operation = tiny.program(0).operations[id];
    operation.stage = 0;
    operation.layer = 0;
    operation.micro_batch = micro_batch;
  };
  add(0, graph::Phase::kForward);
  add(0, graph::Phase::kInputGradient);
  add(1, graph::Phase::kForward);
  add(0, graph::Phase::kWeightGradient);
  add(1, graph::Phase::kInputGradient);
  add(1, graph::Phase::kWeightGradient);
  tiny.finish();
  EXPECT_DOUBLE_EQ(peak_activations(tiny.step(), 1).front(), 2);
}

// Narayanan et al., arXiv 2104.04473, section 2.2: at most p micro-batches in flight under 1F1B, m under GPipe.
TEST(PeakActivations, OfOneForwardOneBackwardShrinkAlongThePipeline) {
  for (const int micro_batches : {2, 8}) {
    scenario::Scenario scenario = tests::uniform_pipeline(4, micro_batches, 2);
    const report::Report report = replayed(scenario, "one_forward_one_backward");
    for (int rank = 0; rank < 4; ++rank) {
      EXPECT_DOUBLE_EQ(report.roles[static_cast<std::size_t>(rank)].peak_activations,
                       std::min(micro_batches, 4 - rank));
    }
  }
}

// Narayanan et al., section 2.2 (interleaved): p (1 + (p - 1) / (p v)) on the first rank.
TEST(PeakActivations, OfInterleavedCountChunksAsParts) {
  scenario::Scenario scenario = tests::uniform_pipeline(4, 8, 2);
  const report::Report report = replayed(scenario, "interleaved", [](catalog::Parameters& parameters) {
    parameters.set_number("layers_per_chunk", 1);
    parameters.set_number("micro_batch_group_size", 4);
  });
  EXPECT_DOUBLE_EQ(report.roles.front().peak_activations, 4 * (1 + 3.0 / (4 * 2)));
}

// Qi et al., arXiv 2401.10241, section 2: ZB-H1 keeps 1F1B's p on the first rank, ZB-H2 needs 2p - 1.
TEST(PeakActivations, OfTheZeroBubbleSchedulesAreThePapers) {
  scenario::Scenario scenario = tests::uniform_pipeline(4, 12, 1);
  EXPECT_DOUBLE_EQ(replayed(scenario, "zero_bubble_h1").roles.front().peak_activations, 4);
  EXPECT_DOUBLE_EQ(replayed(scenario, "zero_bubble_h2").roles.front().peak_activations, 7);
}

// DeepSeek-V3 report, arXiv 2412.19437, table 2: DualPipe holds p + 1 activations on each rank, with two parameter
// copies.
TEST(PeakActivations, OfDualPipeCountAWholeShareForEachCopy) {
  scenario::Scenario scenario = tests::uniform_pipeline(4, 16, 1);
  const report::Report report = replayed(scenario, "dual_pipe");
  double most = 0;
  for (const report::Role& role : report.roles) {
    most = std::max(most, role.peak_activations);
  }
  EXPECT_DOUBLE_EQ(most, 5);
}

TEST(ActivityCounts, MessagesOfAChainGoUpAndDownOncePerMicroBatch) {
  scenario::Scenario scenario = tests::uniform_pipeline(4, 6, 1);
  scenario.model.custom->message = Bytes(1000);
  const report::Report report = replayed(scenario, "gpipe");
  EXPECT_EQ(report.roles[0].messages, 6);  // activations only
  EXPECT_EQ(report.roles[1].messages, 12);
  EXPECT_EQ(report.roles[3].messages, 6);  // gradients only
  EXPECT_DOUBLE_EQ(report.roles[1].message_bytes, 12 * 1000.0);
  EXPECT_EQ(report.roles[1].restores, 0);
  EXPECT_EQ(report.roles[1].reductions, 0);
}

// One resident chunk: each of v chunks is gathered for the forward and, but for the last one, again for the backward
// (arXiv 2106.02679, section 3: layered accumulation restores every layer twice per step, whatever the micro-batches).
TEST(ActivityCounts, LayeredRestoresDoNotGrowWithMicroBatches) {
  for (const int micro_batches : {4, 12}) {
    scenario::Scenario scenario = tests::uniform_pipeline(2, micro_batches, 4);
    scenario.strategy.data_parallel = 2;
    scenario.strategy.sharding.level = scenario::ShardingLevel::kFull;
    scenario.strategy.sharding.weight_buffers = 1;
    const report::Report report = replayed(scenario, "layered_modular", [](catalog::Parameters& parameters) {
      parameters.set_number("layers_per_chunk", 1);
    });
    EXPECT_EQ(report.roles[0].restores, 2 * 4 - 1);
    EXPECT_DOUBLE_EQ(report.roles[0].restored_bytes, 7 * 1e6);
    EXPECT_EQ(report.roles[0].reductions, 4);
  }
}

TEST(ActivityCounts, TheGradientNormIsNoReductionOfGradients) {
  scenario::Scenario scenario = tests::uniform_pipeline(2, 4, 3);
  scenario.strategy.data_parallel = 2;
  scenario.strategy.sharding.level = scenario::ShardingLevel::kOptimizer;
  scenario.strategy.update = scenario::Update::kAfterGlobalNorm;
  EXPECT_EQ(replayed(scenario, "gpipe").roles[0].reductions, 3);
}

}  // namespace
}  // namespace lamina::metrics
