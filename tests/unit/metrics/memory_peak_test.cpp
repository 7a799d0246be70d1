#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/error/error.hpp"
#include "sim/metrics/memory.hpp"
#include "tests/unit/metrics/tiny_step.hpp"

namespace lamina::metrics {
namespace {

using graph::MemoryCategory;
using metrics::testing::TinyStep;

constexpr int kLayers = 32;
constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;

void effect(TinyStep& tiny, TinyStep::Id operation, bool at_end, MemoryCategory category, double bytes) {
  tiny.program(0).memory_effects.push_back({operation, at_end, category, bytes});
}

double of(const report::Memory& memory, MemoryCategory category) {
  return memory.breakdown_bytes[static_cast<std::size_t>(category)];
}

TEST(MemoryPeak, OfAProgramWithoutEffectsIsWhatIsResident) {
  TinyStep tiny(1);
  tiny.compute(0, 1);
  tiny.program(0).initial_memory[0] = 70;
  tiny.program(0).initial_memory[5] = 7;
  const report::Memory memory = memory_of_ranks(tiny.finish().step(), kLayers).at(0);
  EXPECT_DOUBLE_EQ(memory.peak_bytes, 77);
  EXPECT_DOUBLE_EQ(memory.peak_time_s, 0);
  EXPECT_DOUBLE_EQ(of(memory, MemoryCategory::kState), 70);
  EXPECT_DOUBLE_EQ(of(memory, MemoryCategory::kBuffers), 7);
}

TEST(MemoryPeak, IsWhereCheckpointsAndTheWorkingSetMeet) {
  TinyStep tiny(1);
  tiny.program(0).initial_memory[0] = 100;
  const auto forward = tiny.compute(0, 1);
  const auto backward = tiny.compute(0, 2, {}, graph::Phase::kBackward);
  tiny.program(0).operations[backward].layer = 31;
  tiny.program(0).operations[backward].micro_batch = 0;
  effect(tiny, forward, false, MemoryCategory::kCheckpoints, 10);
  effect(tiny, backward, true, MemoryCategory::kCheckpoints, -10);
  effect(tiny, backward, false, MemoryCategory::kWorkingSet, 5);
  effect(tiny, backward, true, MemoryCategory::kWorkingSet, -5);
  const report::Memory memory = memory_of_ranks(tiny.finish().step(), kLayers).at(0);
  EXPECT_DOUBLE_EQ(memory.peak_bytes, 115);
  EXPECT_DOUBLE_EQ(memory.peak_time_s, 1);
  EXPECT_EQ(memory.peak_operation, "backward of layer 31, micro-batch 0");
  EXPECT_DOUBLE_EQ(of(memory, MemoryCategory::kState), 100);
  EXPECT_DOUBLE_EQ(of(memory, MemoryCategory::kCheckpoints), 10);
  EXPECT_DOUBLE_EQ(of(memory, MemoryCategory::kWorkingSet), 5);
}

TEST(MemoryPeak, LetsWhatEndsMakeRoomForWhatStartsAtThatMoment) {
  TinyStep tiny(1);
  const auto first = tiny.compute(0, 0.1 + 0.2);  // 0.30000000000000004
  const auto arrived = tiny.collective(0, graph::Traffic::kRestore, 0.3);
  const auto second = tiny.compute(0, 1, {arrived});
  for (const auto operation : {first, second}) {
    effect(tiny, operation, false, MemoryCategory::kWorkingSet, 8);
    effect(tiny, operation, true, MemoryCategory::kWorkingSet, -8);
  }
  const auto next = tiny.collective(0, graph::Traffic::kRestore, 0.3);  // starts a rounding error before `first` ends
  effect(tiny, next, false, MemoryCategory::kWeights, 4);
  effect(tiny, next, true, MemoryCategory::kWeights, -4);
  EXPECT_DOUBLE_EQ(memory_of_ranks(tiny.finish().step(), kLayers).at(0).peak_bytes, 12);
}

TEST(MemoryPeak, LeavesOutWhatAnOperationWithoutDurationHolds) {
  TinyStep tiny(1);
  tiny.compute(0, 1);
  const auto instant = tiny.compute(0, 0);
  effect(tiny, instant, false, MemoryCategory::kBuffers, 50);
  effect(tiny, instant, true, MemoryCategory::kBuffers, -50);
  EXPECT_DOUBLE_EQ(memory_of_ranks(tiny.finish().step(), kLayers).at(0).peak_bytes, 0);
}

TEST(MemoryPeak, NamesTheRankAndCategoryThatDoNotComeBack) {
  TinyStep tiny(1);
  const auto forward = tiny.compute(0, 1);
  effect(tiny, forward, false, MemoryCategory::kCheckpoints, 1000);
  tiny.finish();
  try {
    (void)memory_of_ranks(tiny.step(), kLayers);
    FAIL() << "nothing thrown";
  } catch (const error::InternalError& fault) {
    EXPECT_THAT(fault.what(), ::testing::AllOf(::testing::HasSubstr("rank 0"), ::testing::HasSubstr("checkpoints"),
                                               ::testing::HasSubstr("1000 bytes")));
  }
}

TEST(MemoryPeak, DoesNotMindTheRoundingOfManyEffects) {
  TinyStep tiny(1);
  for (int k = 0; k < 1000; ++k) {
    const auto operation = tiny.compute(0, 1);
    effect(tiny, operation, false, MemoryCategory::kBuffers, 1e11 / 3);
    effect(tiny, operation, false, MemoryCategory::kBuffers, 0.1);
    effect(tiny, operation, true, MemoryCategory::kBuffers, -(1e11 / 3 + 0.1));
  }
  EXPECT_NEAR(memory_of_ranks(tiny.finish().step(), kLayers).at(0).peak_bytes, 1e11 / 3, 1);
}

TEST(MemoryPeak, SaysWhyItDoesNotFitWithTheNumbers) {
  report::Memory memory;
  memory.peak_bytes = 100 * kGiB;
  memory.peak_operation = "forward of layer 3, micro-batch 1";
  memory.breakdown_bytes[static_cast<std::size_t>(MemoryCategory::kCheckpoints)] = 75 * kGiB;
  memory.breakdown_bytes[static_cast<std::size_t>(MemoryCategory::kState)] = 25 * kGiB;
  EXPECT_EQ(why_not_fit(memory, 100 * kGiB, 2, "a100"), "");
  EXPECT_THAT(why_not_fit(memory, 80 * kGiB, 2, "a100"),
              ::testing::AllOf(::testing::HasSubstr("rank 2"), ::testing::HasSubstr("100.00 GiB"),
                               ::testing::HasSubstr("80.00 GiB"), ::testing::HasSubstr("a100"),
                               ::testing::HasSubstr("checkpoints (75.00 GiB)")));
}

TEST(MemoryPeak, NamesTheEmbeddingAndTheHead) {
  graph::Operation operation;
  operation.layer = -1;
  EXPECT_EQ(short_name(operation, kLayers), "forward of the embedding");
  operation.layer = kLayers;
  EXPECT_EQ(short_name(operation, kLayers), "forward of the head");
  operation.layer = -2;
  operation.phase = graph::Phase::kUpdate;
  EXPECT_EQ(short_name(operation, kLayers), "update");
}

}  // namespace
}  // namespace lamina::metrics
