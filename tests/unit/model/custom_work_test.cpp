#include <gtest/gtest.h>

#include "tests/unit/model/model_fixtures.hpp"

namespace lamina::model {
namespace {

scenario::Scenario profiled() {
  scenario::CustomModel custom;
  custom.forward = Seconds(0.010);
  custom.recompute = Seconds(0.009);
  custom.input_gradient = Seconds(0.011);
  custom.weight_gradient = Seconds(0.012);
  custom.update = Seconds(0.001);
  custom.message = Bytes(1000);
  custom.parameters = Bytes(2e6);
  custom.state = Bytes(12e6);
  custom.checkpoint = Bytes(5000);
  custom.working_set = Bytes(70000);
  custom.flops = Flops(3e12);
  scenario::Model model;
  model.layers = 4;
  model.sequence_length = 1000;
  model.custom = custom;
  scenario::Scenario scenario = scenario_of(model, 2, 1, false, scenario::Recompute::kFull);
  return scenario;
}

TEST(CustomWork, IsOneBlockPerLayerWithTheGivenDurations) {
  const WorkModel work = work_of(profiled());
  ASSERT_EQ(work.layer.blocks.size(), 1U);
  EXPECT_EQ(work.layer.blocks[0].name, "layer");
  EXPECT_EQ(work.layer.blocks[0].forward.duration, Seconds(0.010));
  EXPECT_EQ(work.layer.blocks[0].recompute.duration, Seconds(0.009));
  EXPECT_EQ(work.layer.blocks[0].input_gradient.duration, Seconds(0.011));
  EXPECT_EQ(work.layer.blocks[0].weight_gradient.duration, Seconds(0.012));
  EXPECT_TRUE(work.layer.blocks[0].forward.kernels.empty());
  EXPECT_TRUE(work.embedding.blocks.empty());
  EXPECT_TRUE(work.head.blocks.empty());
  EXPECT_EQ(work.layers, 4);
}

TEST(CustomWork, KeepsTheGivenBytes) {
  const WorkModel work = work_of(profiled());
  EXPECT_EQ(work.layer.weight_bytes, Bytes(2e6));
  EXPECT_EQ(work.layer.gradient_bytes, Bytes(2e6));
  EXPECT_EQ(work.layer.parameters, 1e6);
  EXPECT_EQ(work.parameters, 4e6);
  EXPECT_EQ(work.layer.state_bytes, Bytes(12e6));
  EXPECT_EQ(work.layer.checkpoint, Bytes(5000));
  EXPECT_EQ(work.layer.working_set, Bytes(70000));
  EXPECT_EQ(work.layer.update, Seconds(0.001));
  EXPECT_EQ(work.message, Bytes(1000));
}

TEST(CustomWork, CountsFlopsPerTokenOverTheTensorRanks) {
  scenario::Scenario scenario = profiled();
  scenario.strategy.tensor_parallel = 2;
  const WorkModel work = work_of(scenario);
  EXPECT_DOUBLE_EQ(work.model_flops_per_token.value(), 3 * 3e12 * 4 * 2 / 2000);
  EXPECT_DOUBLE_EQ(work.hardware_flops_per_token.value(), 4 * 3e12 * 4 * 2 / 2000);
  EXPECT_EQ(work.peak, FlopsPerSecond(312e12));
  scenario.strategy.recompute = scenario::Recompute::kNone;
  EXPECT_DOUBLE_EQ(work_of(scenario).hardware_flops_per_token.value(), 3 * 3e12 * 4 * 2 / 2000);
}

TEST(CustomWork, IsTwoHalvesWhenTensorRanksExchangeTwicePerLayer) {
  scenario::Scenario scenario = profiled();
  scenario.strategy.tensor_parallel = 2;
  scenario.model.custom->tensor_message = Bytes(4000);
  const WorkModel work = work_of(scenario);
  ASSERT_EQ(work.layer.blocks.size(), 2U);
  for (const BlockCost& block : work.layer.blocks) {
    EXPECT_DOUBLE_EQ(block.forward.duration.value(), 0.005);
    EXPECT_EQ(block.tensor_payload, Bytes(4000));
  }
}

TEST(CustomWork, KeepsTheMessageAndTheFlopsOfOneRankWhateverIsSliced) {
  scenario::Scenario scenario = profiled();
  scenario.strategy.tensor_parallel = 2;
  for (const bool sliced : {false, true}) {
    scenario.strategy.sliced_sends = sliced;
    EXPECT_EQ(work_of(scenario).message, Bytes(1000));
    EXPECT_EQ(flops_of(work_of(scenario).layer, Pass::kForward), 3e12);
  }
}

TEST(CustomWork, HasNoPeakWithoutFlops) {
  scenario::Scenario scenario = profiled();
  scenario.model.custom->flops = Flops(0);
  const WorkModel work = work_of(scenario);
  EXPECT_EQ(work.peak, FlopsPerSecond(0));
  EXPECT_EQ(work.model_flops_per_token, Flops(0));
}

}  // namespace
}  // namespace lamina::model
