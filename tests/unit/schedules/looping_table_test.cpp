// Schedules that loop over several chunks per rank: order, groups and rounds, and requests that they cannot serve.
#include <gtest/gtest.h>

#include "tests/unit/schedules/table_text.hpp"

namespace lamina::schedules {
namespace {

using testing::make;
using testing::peak_chunks;
using testing::text;

ScheduleRequest request(int ranks, int micro_batches, int layers, int layers_per_chunk, int group) {
  ScheduleRequest result{ranks, micro_batches, layers, {}};
  result.parameters.set_number("layers_per_chunk", layers_per_chunk);
  result.parameters.set_number("micro_batch_group_size", group);
  result.parameters.set_number("breadth_first_micro_batches", group);
  result.parameters.set_choice("backward_order", "ascending");
  return result;
}

// The rule of Megatron-LM and PyTorch by hand: warm-up (v - 1) g + 2 (p - 1 - r), groups of g = p micro-batches.
TEST(Interleaved, PassesGroupsThroughTheChunksDepthFirst) {
  const auto table = make("interleaved", request(2, 4, 4, 1, 0));
  ASSERT_TRUE(table);
  EXPECT_EQ(text(table->actions[0]), "0F0 0F1 2F0 2F1 0F2 2B0 0F3 2B1 2F2 0B0 2F3 0B1 2B2 2B3 0B2 0B3");
  EXPECT_EQ(text(table->actions[1]), "1F0 1F1 3F0 3B0 3F1 3B1 1F2 1B0 1F3 1B1 3F2 3B2 3F3 3B3 1B2 1B3");
}

// p (1 + (p - 1) / (p v)) shares with g = p, Narayanan et al., arXiv 2104.04473, in chunks: v p + p - 1. A group twice
// as long keeps (v - 1) p chunks more.
TEST(Interleaved, KeepsMoreActivationsTheLongerTheGroup) {
  EXPECT_EQ(peak_chunks(make("interleaved", request(4, 16, 12, 1, 0)).value()), 3 * 4 + 3);
  EXPECT_EQ(peak_chunks(make("interleaved", request(4, 16, 12, 1, 8)).value()), 3 * 4 + 3 + 2 * 4);
}

// p = 4, v = 2, g = 2: hangs in Megatron-LM (issue 1829) and in any in-order replay.
TEST(Interleaved, RefusesGroupsShorterThanThePipelineAndSaysWhy) {
  for (const char* name : {"interleaved", "interleaved_zero_bubble"}) {
    const auto table = make(name, request(4, 8, 8, 1, 2));
    ASSERT_FALSE(table);
    EXPECT_EQ(table.error().reason,
              "micro_batch_group_size 2 is less than the 4 pipeline ranks: with 2 chunks per rank, a rank's next "
              "forward can wait for a forward that the last rank issues behind a backward that waits for this rank "
              "(deadlock).");
  }
}

// p = 4, v = 3, g = 4, m = 5 hangs in an in-order replay; a last group of p does not.
TEST(Interleaved, RefusesALastGroupShorterThanThePipeline) {
  const auto table = make("interleaved", request(4, 5, 12, 1, 4));
  ASSERT_FALSE(table);
  EXPECT_EQ(table.error().reason.substr(0, 111),
            "5 micro-batches in groups of 4 (micro_batch_group_size) leave a last group of 1, less than the 4 pipeline "
            "ranks");
  EXPECT_TRUE(make("interleaved", request(4, 9, 12, 1, 5)));
}

TEST(Interleaved, ServesOneGroupShorterThanThePipeline) {
  EXPECT_TRUE(make("interleaved", request(4, 3, 8, 1, 0)));
  EXPECT_TRUE(make("interleaved", request(4, 3, 8, 1, 4)));
}

TEST(Interleaved, RefusesUnequalGroupsByDefaultAndNamesTheParameter) {
  const auto table = make("interleaved", request(4, 9, 8, 1, 0));
  ASSERT_FALSE(table);
  EXPECT_EQ(table.error().reason,
            "9 micro-batches do not divide into 2 equal groups of at least 4 (the pipeline ranks); set "
            "micro_batch_group_size, which may leave a shorter last group of at least 4.");
}

TEST(Interleaved, WithOneChunkIsOneForwardOneBackward) {
  const auto interleaved = make("interleaved", request(4, 9, 8, 2, 0));
  ASSERT_TRUE(interleaved) << interleaved.error().reason;
  // A warm-up of 2 (p - 1 - r) instead of p - 1 - r: the order of the passes of either kind is the same.
  EXPECT_EQ(text(interleaved->actions[3]), text(make("one_forward_one_backward", {4, 9, 8, {}})->actions[3]));
  EXPECT_EQ(text(interleaved->actions[2]).substr(0, 24), "2F0 2F1 2F2 2B0 2F3 2B1 ");
}

TEST(InterleavedZeroBubble, WithOneChunkIsZeroBubbleH1) {
  for (const int micro_batches : {1, 4, 9}) {
    const auto interleaved = make("interleaved_zero_bubble", request(4, micro_batches, 8, 2, 0));
    ASSERT_TRUE(interleaved);
    EXPECT_EQ(interleaved->actions, make("zero_bubble_h1", {4, micro_batches, 8, {}})->actions);
  }
}

TEST(Hybrid, DealsMicroBatchesToTheRoundsInTurn) {
  const auto table = make("hybrid", request(2, 4, 4, 1, 2));
  ASSERT_TRUE(table);
  EXPECT_EQ(text(table->actions[0]), "0F0 0F2 2F0 2F2 2B0 2B2 0B0 0B2 0F1 0F3 2F1 2F3 2B1 2B3 0B1 0B3");
}

TEST(Hybrid, IsLayeredModularInOneRoundAndHoldsOneRoundsActivationsOtherwise) {
  EXPECT_EQ(make("hybrid", request(4, 8, 16, 2, 8))->actions,
            make("layered_modular", request(4, 8, 16, 2, 8))->actions);
  EXPECT_EQ(peak_chunks(make("hybrid", request(4, 16, 16, 2, 4)).value()), 4 * 2);
}

TEST(Hybrid, RefusesRoundsThatDoNotDivideTheMicroBatches) {
  const auto chosen = make("hybrid", request(4, 10, 16, 2, 8));
  ASSERT_FALSE(chosen);
  EXPECT_EQ(chosen.error().reason, "10 micro-batches do not divide into rounds of 8 (breadth_first_micro_batches).");
  const auto by_default = make("hybrid", request(4, 10, 16, 2, 0));
  ASSERT_FALSE(by_default);
  EXPECT_EQ(by_default.error().reason,
            "10 micro-batches do not divide into rounds of 4 (breadth_first_micro_batches, by default the 4 pipeline "
            "ranks).");
}

}  // namespace
}  // namespace lamina::schedules
