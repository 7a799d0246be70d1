// Zero-bubble, V and DualPipe schedules: activations, placement, and requests that they cannot serve.
#include <algorithm>

#include <gtest/gtest.h>

#include "schedules/placement.hpp"
#include "tests/unit/schedules/table_text.hpp"

namespace lamina::schedules {
namespace {

using testing::make;
using testing::peak_chunks;
using testing::text;

ScheduleRequest request(int ranks, int micro_batches, int layers) {
  return {ranks, micro_batches, layers, {}};
}

// Qi et al., arXiv 2401.10241, figure 2 (ZB-H1), for three ranks.
TEST(ZeroBubbleH1, DelaysWeightGradientsByTheRanksNumber) {
  const auto table = make("zero_bubble_h1", request(3, 4, 3));
  ASSERT_TRUE(table);
  EXPECT_EQ(text(table->actions[0]), "0F0 0F1 0F2 0I0 0W0 0F3 0I1 0W1 0I2 0W2 0I3 0W3");
  EXPECT_EQ(text(table->actions[2]), "2F0 2I0 2F1 2I1 2F2 2I2 2W0 2F3 2I3 2W1 2W2 2W3");
}

// Same, figure 3 (ZB-H2): input gradient, weight gradient, forward in the steady state.
TEST(ZeroBubbleH2, StartsTwiceAsManyForwards) {
  const auto table = make("zero_bubble_h2", request(2, 4, 2));
  ASSERT_TRUE(table);
  EXPECT_EQ(text(table->actions[0]), "0F0 0F1 0F2 0I0 0W0 0F3 0I1 0W1 0I2 0W2 0I3 0W3");
  EXPECT_EQ(text(table->actions[1]), "1F0 1I0 1F1 1I1 1F2 1I2 1W0 1F3 1I3 1W1 1W2 1W3");
}

// Peaks in chunks: p and 2p - 1 (arXiv 2401.10241, table 1), 2p half chunks (section 6), p + 1 and 2p + 1 (DualPipe's
// table, arXiv 2412.19437), p + 2 half chunks for an even number of ranks (V-Half of arXiv 2405.15362).
TEST(PeakActivations, AreThePublishedOnes) {
  for (const int ranks : {2, 4, 8}) {
    const int micro_batches = 3 * ranks;
    EXPECT_EQ(peak_chunks(make("zero_bubble_h1", request(ranks, micro_batches, ranks)).value()), ranks);
    EXPECT_EQ(peak_chunks(make("zero_bubble_h2", request(ranks, micro_batches, ranks)).value()), 2 * ranks - 1);
    EXPECT_EQ(peak_chunks(make("zero_bubble_v", request(ranks, micro_batches, 2 * ranks)).value()), 2 * ranks);
    EXPECT_EQ(peak_chunks(make("dual_pipe", request(ranks, micro_batches, ranks)).value()), ranks + 1);
    EXPECT_EQ(peak_chunks(make("dual_pipe_v", request(ranks, micro_batches, 2 * ranks)).value()), 2 * ranks + 1);
    EXPECT_EQ(peak_chunks(make("v_half", request(ranks, micro_batches, 2 * ranks)).value()), ranks + 2);
  }
}

// arXiv 2405.15362: a third of 1F1B's 2p half chunks and a constant.
TEST(PeakActivations, OfVMinAreAThirdOfOneForwardOneBackwardAndAConstant) {
  for (const int ranks : {4, 6, 8, 12, 16}) {
    const int peak = peak_chunks(make("v_min", request(ranks, 3 * ranks, 2 * ranks)).value());
    EXPECT_GE(3 * peak, 2 * ranks) << ranks;
    EXPECT_LE(3 * peak, 2 * ranks + 3 * 3) << ranks;
  }
}

TEST(VPlacement, GoesDownTheRanksAndBackUp) {
  const std::vector<Stage> stages = v_placement(3);
  ASSERT_EQ(stages.size(), 6U);
  constexpr int kRanks[] = {0, 1, 2, 2, 1, 0};
  for (int stage = 0; stage < 6; ++stage) {
    const Stage& placed = stages[static_cast<std::size_t>(stage)];
    EXPECT_EQ(placed.rank, kRanks[stage]);
    EXPECT_EQ(placed.model_chunk, stage);
    EXPECT_EQ(placed.previous, stage - 1);
    EXPECT_EQ(placed.next, stage == 5 ? -1 : stage + 1);
  }
}

TEST(DualPipe, HoldsTwoCopiesFedFromOppositeEnds) {
  const auto table = make("dual_pipe", request(4, 8, 8));
  ASSERT_TRUE(table);
  EXPECT_EQ(table->model_chunks, 4);
  ASSERT_EQ(table->stages.size(), 8U);
  for (int chunk = 0; chunk < 4; ++chunk) {
    const Stage& first = table->stages[static_cast<std::size_t>(chunk)];
    const Stage& second = table->stages[static_cast<std::size_t>(4 + chunk)];
    EXPECT_EQ(first.rank, chunk);
    EXPECT_EQ(second.rank, 3 - chunk);
    EXPECT_EQ(second.model_chunk, first.model_chunk);
    EXPECT_EQ(second.previous, chunk == 0 ? -1 : 4 + chunk - 1);
    EXPECT_EQ(first.next, chunk == 3 ? -1 : chunk + 1);  // the two directions are not connected
  }
}

TEST(DualPipe, RefusesOddNumbersAndTooFewMicroBatches) {
  for (const auto& [ranks, micro_batches] : {std::pair{3, 8}, {4, 9}, {4, 6}}) {
    const auto table = make("dual_pipe", request(ranks, micro_batches, 12));
    ASSERT_FALSE(table);
    EXPECT_EQ(table.error().reason,
              "dual_pipe needs an even number of pipeline ranks and an even number of "
              "micro-batches, at least two per rank; it was asked for " +
                  std::to_string(ranks) + " ranks and " + std::to_string(micro_batches) + " micro-batches.");
  }
}

TEST(DualPipeV, RefusesFewerThanTwoMicroBatchesPerRank) {
  const auto table = make("dual_pipe_v", request(4, 7, 8));
  ASSERT_FALSE(table);
  EXPECT_EQ(table.error().reason,
            "dual_pipe_v needs at least two micro-batches per pipeline rank; it was asked for 4 ranks and 7 "
            "micro-batches.");
}

TEST(ZeroBubbleV, RefusesLayersThatDoNotDivideOverTheTwoChunksOfEveryRank) {
  const auto table = make("zero_bubble_v", request(4, 8, 12));
  ASSERT_FALSE(table);
  EXPECT_EQ(table.error().reason, "12 layers do not divide evenly over 4 pipeline ranks with 2 chunks each.");
}

}  // namespace
}  // namespace lamina::schedules
