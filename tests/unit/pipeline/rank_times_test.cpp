#include "sim/pipeline/rank_times.hpp"

#include <gtest/gtest.h>

#include "sim/pipeline/simulate.hpp"
#include "tests/support/random_scenario.hpp"

namespace lamina::pipeline {
namespace {

scenario::Scenario gpt_on_four_ranks() {
  scenario::Scenario scenario = tests::small_scenario();
  scenario.model.layers = 8;
  scenario.model.biases = true;
  scenario.strategy.pipeline_parallel = 4;
  return scenario;
}

model::WorkModel work_of(const scenario::Scenario& scenario) {
  return model::work_model(scenario, builtin_catalogs().cost_models);
}

double seconds(const model::WorkModel& work, model::Pass pass) {
  double sum = 0;
  for (const model::BlockCost& block : work.layer.blocks) {
    sum += block.pass(pass).duration.value();
  }
  return sum;
}

TEST(RankTimes, AreThoseOfTheLayersOnARankInTheMiddle) {
  const scenario::Scenario scenario = gpt_on_four_ranks();
  const model::WorkModel work = work_of(scenario);
  const schedules::RankTimes times = rank_times(scenario, work);
  EXPECT_DOUBLE_EQ(times.forward_s, 2 * seconds(work, model::Pass::kForward));
  EXPECT_DOUBLE_EQ(times.input_gradient_s, 2 * seconds(work, model::Pass::kInputGradient));
  EXPECT_DOUBLE_EQ(times.weight_gradient_s, 2 * seconds(work, model::Pass::kWeightGradient));
}

TEST(RankTimes, CountEndsThatStandForALayer) {
  scenario::Scenario scenario = gpt_on_four_ranks();
  scenario.model.layers = 6;
  scenario.model.vocabulary = 4096;
  scenario.strategy.embedding_counts_as_layer = true;
  scenario.strategy.head_counts_as_layer = true;
  const model::WorkModel work = work_of(scenario);
  EXPECT_DOUBLE_EQ(rank_times(scenario, work).forward_s, 2 * seconds(work, model::Pass::kForward));
}

TEST(RankTimes, RecomputeBeforeTheInputGradient) {
  scenario::Scenario scenario = gpt_on_four_ranks();
  scenario.strategy.recompute = scenario::Recompute::kFull;
  const model::WorkModel work = work_of(scenario);
  const double expected = 2 * (seconds(work, model::Pass::kRecompute) + seconds(work, model::Pass::kInputGradient));
  EXPECT_NEAR(rank_times(scenario, work).input_gradient_s, expected, 1e-12 * expected);
}

// One node: the message of b s h 16-bit elements goes over the device link of 50 GB/s and 1 us; two nodes: over a port
// of 5 GB/s with 3 + 1 us.
TEST(RankTimes, SendOneMessageOverTheLinkBetweenTheRanks) {
  scenario::Scenario scenario = gpt_on_four_ranks();
  const double bytes = 2.0 * 512 * 1024;
  EXPECT_NEAR(rank_times(scenario, work_of(scenario)).message_s, 1e-6 + bytes / 50e9, 1e-12);
  scenario.cluster.nodes = 2;
  EXPECT_NEAR(rank_times(scenario, work_of(scenario)).message_s, 4e-6 + bytes / 5e9, 1e-12);
}

// M_W / M_B = 32 / (34 + 5 a s / h) of a GPT, Qi et al., arXiv 2401.10241, section 2; with full recomputation the
// forward leaves 2 s b h and the input gradient 32 s b h.
TEST(RankTimes, KeepTheOperandsOfTheWeightGradient) {
  scenario::Scenario scenario = gpt_on_four_ranks();
  const double scores = 5.0 * 16 * 512 / 1024;
  EXPECT_NEAR(rank_times(scenario, work_of(scenario)).kept_for_weight_gradient, 32 / (34 + scores), 1e-12);
  scenario.strategy.recompute = scenario::Recompute::kFull;
  EXPECT_NEAR(rank_times(scenario, work_of(scenario)).kept_for_weight_gradient, 16, 1e-12);
}

}  // namespace
}  // namespace lamina::pipeline
