// Counts of restores and reductions against closed forms (arXiv 2106.02679 section on partitioned states; derivations
// in docs/model.md).
#include <gtest/gtest.h>

#include "sim/lowering/sharding.hpp"

namespace lamina::lowering {
namespace {

using schedules::ActionType;

/// `layers` units on one rank; plain: micro-batch by micro-batch; layered: layer by layer.
RoleTasks accumulation(int layers, int micro_batches, bool layered) {
  RoleTasks role;
  role.units.resize(static_cast<std::size_t>(layers));
  const auto add = [&](ActionType type, int unit, int micro_batch) {
    role.tasks.push_back({type, 0, micro_batch, unit, false, false});
  };
  if (layered) {
    for (int l = 0; l < layers; ++l) {
      for (int m = 0; m < micro_batches; ++m) {
        add(ActionType::kForward, l, m);
      }
    }
    for (int l = layers - 1; l >= 0; --l) {
      for (int m = 0; m < micro_batches; ++m) {
        add(ActionType::kBackward, l, m);
      }
    }
    return role;
  }
  for (int m = 0; m < micro_batches; ++m) {
    for (int l = 0; l < layers; ++l) {
      add(ActionType::kForward, l, m);
    }
    for (int l = layers - 1; l >= 0; --l) {
      add(ActionType::kBackward, l, m);
    }
  }
  return role;
}

scenario::Sharding full(int weight_buffers, int gradient_buffers) {
  return {scenario::ShardingLevel::kFull, weight_buffers, gradient_buffers, true};
}

TEST(LayeredAccumulation, RestoresEachLayerTwiceButTheLastOnceWithOneBuffer) {
  for (const auto& [layers, micro_batches] : {std::pair{8, 4}, std::pair{16, 8}}) {
    const auto plan = plan_data_parallel(accumulation(layers, micro_batches, true), full(1, 1));
    EXPECT_EQ(plan.restores.size(), static_cast<std::size_t>(2 * layers - 1));
    EXPECT_EQ(plan.reduces.size(), static_cast<std::size_t>(layers));
  }
}

TEST(PlainAccumulation, RestoresEveryLayerForEveryMicroBatch) {
  for (const auto& [layers, micro_batches] : {std::pair{8, 4}, std::pair{16, 8}}) {
    const auto plan = plan_data_parallel(accumulation(layers, micro_batches, false), full(1, 1));
    // Forward and backward of each micro-batch; the turning points reuse what is resident.
    EXPECT_EQ(plan.restores.size(), static_cast<std::size_t>(micro_batches * (2 * layers - 2) + 1));
    EXPECT_EQ(plan.reduces.size(), static_cast<std::size_t>(micro_batches * layers));
  }
}

TEST(ShardingPlan, SecondBufferSavesOneRestoreAtTheTurn) {
  const auto plan = plan_data_parallel(accumulation(8, 4, true), full(2, 2));
  EXPECT_EQ(plan.restores.size(), 14U);
}

TEST(ShardingPlan, KeepsEverythingResidentWithEnoughBuffers) {
  const auto plan = plan_data_parallel(accumulation(8, 4, false), full(8, 8));
  EXPECT_EQ(plan.restores.size(), 8U);
  EXPECT_EQ(plan.reduces.size(), 8U);
}

TEST(ShardingPlan, MarksOnlyTheLastReductionOfAUnitAsLast) {
  const auto plan = plan_data_parallel(accumulation(4, 3, false), full(2, 2));
  int last = 0;
  for (const Reduce& reduce : plan.reduces) {
    last += reduce.is_last ? 1 : 0;
  }
  EXPECT_EQ(plan.reduces.size(), 12U);
  EXPECT_EQ(last, 4);
}

TEST(ShardingPlan, PrefetchIssuesARestoreWhenItsBufferIsFree) {
  const RoleTasks role = accumulation(4, 2, true);
  const auto plan = plan_data_parallel(role, full(2, 2));
  ASSERT_GE(plan.restores.size(), 3U);
  EXPECT_EQ(plan.restores[0].issue_after, kStepStart);
  EXPECT_EQ(plan.restores[1].issue_after, kStepStart);
  EXPECT_EQ(plan.restores[2].issue_after, 1);  // after the second micro-batch of layer 0
  EXPECT_EQ(plan.restores[2].first_task, 4);   // first micro-batch of layer 2
}

TEST(ShardingPlan, WithoutPrefetchARestoreFollowsTheTaskBeforeItsUse) {
  scenario::Sharding sharding = full(2, 2);
  sharding.prefetch = false;
  const auto plan = plan_data_parallel(accumulation(4, 2, true), sharding);
  EXPECT_EQ(plan.restores[2].issue_after, 3);
}

TEST(ShardingPlan, StateShardingAloneGathersEachUnitOnceAndReducesOnce) {
  for (const auto level : {scenario::ShardingLevel::kOptimizer, scenario::ShardingLevel::kGradients}) {
    const auto plan = plan_data_parallel(accumulation(6, 3, true), {level, 2, 2, true});
    EXPECT_EQ(plan.restores.size(), 6U);
    EXPECT_EQ(plan.reduces.size(), 6U);
  }
  const auto plan = plan_data_parallel(accumulation(6, 3, false), {scenario::ShardingLevel::kNone, 2, 2, true});
  EXPECT_TRUE(plan.restores.empty());
  EXPECT_EQ(plan.reduces.size(), 6U);
}

TEST(ShardingPlan, ABufferIsBlockedUntilItsFormerGradientsAreReduced) {
  const auto plan = plan_data_parallel(accumulation(4, 2, true), full(2, 2));
  ASSERT_EQ(plan.reduces.size(), 4U);
  EXPECT_EQ(plan.reduces[0].unit, 3);
  EXPECT_EQ(plan.reduces[0].after, 9);    // second backward of layer 3
  EXPECT_EQ(plan.reduces[0].blocks, 12);  // first backward of layer 1, which takes the same buffer
  EXPECT_EQ(plan.reduces[3].blocks, -1);
}

}  // namespace
}  // namespace lamina::lowering
