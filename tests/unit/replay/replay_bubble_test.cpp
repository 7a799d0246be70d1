// Bubbles of the schedules in closed form, met by unit-time replay for equal and unequal forward, input-gradient and
// weight-gradient times.
#include <cmath>

#include <gtest/gtest.h>

#include "schedules/schedule.hpp"
#include "sim/replay/replay.hpp"
#include "tests/unit/replay/unit_time_lowering.hpp"

namespace lamina::replay {
namespace {

using testing::UnitTimeLowering;
using testing::UnitTimes;

constexpr UnitTimes kTimes[] = {{1, 1, 1}, {1, 1.25, 0.75}, {1, 1, 0.5}, {2, 1, 1}};

struct Bubble {
  double makespan = 0;  ///< of the step, beyond the work of a rank
  double span = 0;      ///< longest time of a rank from its first start to its last end, beyond its work
};

/// Replays `ranks` ranks with `chunks` one-layer chunks each.
Bubble bubble(const std::string& name, int ranks, int micro_batches, int chunks, const UnitTimes& times,
              int breadth = 0) {
  schedules::ScheduleRequest request{ranks, micro_batches, ranks * chunks, {}};
  request.parameters.set_number("layers_per_chunk", 1);
  request.parameters.set_number("micro_batch_group_size", 0);
  request.parameters.set_number("breadth_first_micro_batches", breadth);
  const auto catalog = schedules::builtin_schedules();
  const auto table = catalog.find(name)->implementation->table(request).value();
  const UnitTimeLowering lowering(table, 0, times);
  const timeline::Timeline timeline = lowering.scene.run();
  const double work = micro_batches * (times.forward + times.input_gradient + times.weight_gradient);
  return {timeline.end_s - work, lowering.longest_span(timeline) - work};
}

double excess(const UnitTimes& times) {
  return std::max(0.0, times.input_gradient - times.weight_gradient);
}

// (p - 1)(tF + tB) / v, Narayanan et al., arXiv 2104.04473, section 2.2.2.
TEST(Bubble, OfInterleavedIsThatOfOneForwardOneBackwardOverTheChunks) {
  for (const UnitTimes& times : kTimes) {
    for (const auto& [ranks, chunks] : {std::pair{2, 3}, {4, 2}, {4, 4}}) {
      const double expected = (ranks - 1) * (times.forward + times.input_gradient + times.weight_gradient) / chunks;
      EXPECT_NEAR(bubble("interleaved", ranks, 3 * ranks, chunks, times).makespan, expected, 1e-9);
    }
  }
}

// d rounds pay d bubbles of (p - 1)(tF + tB) / v each when every round has at least p micro-batches.
TEST(Bubble, OfHybridIsPaidInEveryRound) {
  for (const UnitTimes& times : kTimes) {
    for (const int rounds : {1, 2, 3}) {
      const double round = 3 * (times.forward + times.input_gradient + times.weight_gradient) / 2;
      EXPECT_NEAR(bubble("hybrid", 4, 4 * rounds, 2, times, 4).makespan, rounds * round, 1e-9);
    }
  }
}

// (p - 1)(tF + tI - tW), Qi et al., arXiv 2401.10241, table 1, while tI >= tW.
TEST(Bubble, OfZeroBubbleH1IsAThirdOfOneForwardOneBackward) {
  for (const UnitTimes& times : kTimes) {
    for (const int ranks : {1, 2, 4, 8}) {
      const double expected = (ranks - 1) * (times.forward + excess(times));
      EXPECT_NEAR(bubble("zero_bubble_h1", ranks, 3 * ranks, 1, times).makespan, expected, 1e-9) << ranks;
    }
  }
}

TEST(Bubble, OfInterleavedZeroBubbleIsThatOfZeroBubbleH1OverTheChunks) {
  for (const UnitTimes& times : kTimes) {
    for (const auto& [ranks, chunks] : {std::pair{2, 3}, {4, 2}, {4, 4}}) {
      const double expected = (ranks - 1) * (times.forward + excess(times)) / chunks;
      EXPECT_NEAR(bubble("interleaved_zero_bubble", ranks, 3 * ranks, chunks, times).makespan, expected, 1e-9);
    }
  }
}

// (p - 1)(tF + tI - 2 tW), Qi et al., arXiv 2401.10241, table 1: no idle time within a rank when all three are equal.
TEST(Bubble, OfZeroBubbleH2VanishesWithinARankForEqualTimes) {
  for (const UnitTimes& times : kTimes) {
    for (const int ranks : {2, 4, 8}) {
      const double one = times.forward + times.input_gradient - 2 * times.weight_gradient;
      const double expected = (ranks - 1) * std::max(0.0, one);
      EXPECT_NEAR(bubble("zero_bubble_h2", ranks, 3 * ranks, 1, times).span, expected, 1e-9) << ranks;
    }
  }
}

// Qi et al., arXiv 2401.10241, section 6: zero within a rank when F, I and W are equal; the ranks start half a forward
// apart.
TEST(Bubble, OfZeroBubbleVVanishesWithinARankForEqualTimes) {
  for (const int ranks : {1, 2, 4, 8}) {
    const Bubble measured = bubble("zero_bubble_v", ranks, 2 * ranks, 2, kTimes[0]);
    EXPECT_NEAR(measured.span, 0, 1e-9) << ranks;
    EXPECT_NEAR(measured.makespan, (ranks - 1) / 2.0, 1e-9) << ranks;
  }
}

// Public table of the authors' zero-bubble code: V-Half idles half, V-Min two thirds of 1F1B's (p - 1)(tF + tB), in the
// limit of many ranks.
TEST(Bubble, OfVHalfAndVMinLiesBetweenThoseOfZeroBubbleVAndOneForwardOneBackward) {
  for (const int ranks : {4, 6, 8, 12}) {
    const double plain = bubble("one_forward_one_backward", ranks, 3 * ranks, 1, kTimes[0]).makespan;
    const double half = bubble("v_half", ranks, 3 * ranks, 2, kTimes[0]).makespan;
    const double least = bubble("v_min", ranks, 3 * ranks, 2, kTimes[0]).makespan;
    EXPECT_GT(half, bubble("zero_bubble_v", ranks, 3 * ranks, 2, kTimes[0]).makespan) << ranks;
    EXPECT_LE(half / plain, 1 / 2.0) << ranks;
    EXPECT_GT(least, half) << ranks;
    EXPECT_LE(least / plain, 2 / 3.0) << ranks;
  }
}

// (p/2 - 1)(F&B + B - 3W) of the DualPipe code with F&B = tF + tB: (p/2 - 1)(2 tF + tI - tW) when tF = tI.
TEST(Bubble, OfDualPipeFollowsItsPublishedFormForEqualForwardAndInputGradient) {
  for (const UnitTimes& times : {UnitTimes{1, 1, 1}, UnitTimes{1, 1, 0.5}, UnitTimes{2, 2, 1}}) {
    for (const int ranks : {2, 4, 8}) {
      const double expected = (ranks / 2.0 - 1) * (2 * times.forward + excess(times));
      EXPECT_NEAR(bubble("dual_pipe", ranks, 2 * ranks + 4, 1, times).makespan, expected, 1e-9) << ranks;
    }
  }
}

// Half of it per rank for twice the ranks: (p - 1)(2 tF + tI - tW) / 2.
TEST(Bubble, OfDualPipeVIsThatOfDualPipeOnTwiceTheRanksInHalfUnits) {
  for (const UnitTimes& times : {UnitTimes{1, 1, 1}, UnitTimes{1, 1, 0.5}, UnitTimes{2, 2, 1}}) {
    for (const int ranks : {1, 2, 4}) {
      const double expected = (ranks - 1) * (2 * times.forward + excess(times)) / 2;
      EXPECT_NEAR(bubble("dual_pipe_v", ranks, 2 * ranks + 2, 2, times).makespan, expected, 1e-9) << ranks;
    }
  }
}

}  // namespace
}  // namespace lamina::replay
