// The automatic schedule against closed forms, with times that need no published data.
#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "schedules/bubble_filling.hpp"
#include "schedules/schedule.hpp"
#include "tests/unit/replay/unit_time_lowering.hpp"

namespace lamina::replay {
namespace {

using schedules::RankTimes;
using testing::UnitTimeLowering;

schedules::ScheduleTable planned(int ranks, int micro_batches, int limit, const RankTimes& times,
                                 const std::string& objective = "span") {
  schedules::ScheduleRequest request{ranks, micro_batches, ranks, {}, times};
  request.parameters.set_number("memory_limit", limit);
  request.parameters.set_choice("objective", objective);
  return schedules::builtin_schedules().find("zero_bubble_auto")->implementation->table(request).value();
}

struct Replayed {
  double span = 0;
  double makespan = 0;
};

Replayed replayed(const schedules::ScheduleTable& table, const RankTimes& times) {
  const UnitTimeLowering lowering(table, times.message_s,
                                  {times.forward_s, times.input_gradient_s, times.weight_gradient_s});
  const timeline::Timeline timeline = lowering.scene.run();
  return {lowering.longest_span(timeline), timeline.end_s};
}

double work(int micro_batches, const RankTimes& times) {
  return micro_batches * (times.forward_s + times.input_gradient_s + times.weight_gradient_s);
}

// Qi et al., arXiv 2401.10241, section 2.2: no idle time within a rank for F = I = W with 2p - 1 activations.
TEST(ZeroBubbleAuto, HasNoBubbleWithinARankForEqualTimesAndTwiceTheMemory) {
  const RankTimes equal{1, 1, 1, 0, 1};
  for (const int ranks : {1, 2, 4, 8}) {
    EXPECT_NEAR(replayed(planned(ranks, 3 * ranks, 2 * ranks, equal), equal).span, work(3 * ranks, equal), 1e-9);
  }
}

// Table 1 there: ZB-H1 idles (p - 1)(F + I - W) at the memory of 1F1B.
TEST(ZeroBubbleAuto, IsNoWorseThanZeroBubbleH1AtTheMemoryOfOneForwardOneBackward) {
  for (const RankTimes& times : {RankTimes{1, 1, 1, 0, 1}, {1, 1.25, 0.75, 0, 1}, {2, 1, 1, 0, 1}}) {
    for (const int ranks : {2, 4, 8}) {
      const double published = (ranks - 1) * (times.forward_s + times.input_gradient_s - times.weight_gradient_s);
      const double bubble = replayed(planned(ranks, 3 * ranks, 0, times), times).makespan - work(3 * ranks, times);
      EXPECT_LE(bubble, published + 1e-9);
    }
  }
}

// One micro-batch at a time: down and up all ranks, then the weight gradient of rank 0.
TEST(ZeroBubbleAuto, RunsOneMicroBatchAfterTheOtherWhenMemoryHoldsOne) {
  const RankTimes times{2, 3, 1, 0.5, 1};
  const double expected = 5 * (4 * (2 + 3) + 2 * 3 * 0.5 + 1);
  EXPECT_NEAR(replayed(planned(4, 5, 1, times), times).makespan, expected, 1e-9);
}

double peak(const std::vector<schedules::Action>& row, double kept) {
  double alive = 0;
  double most = 0;
  for (const schedules::Action& action : row) {
    alive += action.type == schedules::ActionType::kForward ? 1 : 0;
    most = std::max(most, alive);
    alive -= action.type == schedules::ActionType::kInputGradient ? 1 - kept : 0;
    alive -= action.type == schedules::ActionType::kWeightGradient ? kept : 0;
  }
  return most;
}

TEST(ZeroBubbleAuto, KeepsItsMemoryLimit) {
  for (const double kept : {0.0, 0.37, 1.0}) {
    for (const int ranks : {1, 3, 8}) {
      for (const int limit : {1, 2, 5, 8, 16, 40}) {
        const auto table = planned(ranks, 24, limit, {1.9, 1.8, 0.9, 0.1, kept});
        for (const auto& row : table.actions) {
          EXPECT_LE(peak(row, kept), limit + 1e-9) << ranks << " ranks, limit " << limit << ", kept " << kept;
        }
      }
    }
  }
}

TEST(ZeroBubbleAuto, MakesTheObjectiveThatItIsGivenSmall) {
  for (const int limit : {4, 8, 12, 16}) {
    const RankTimes times{18.5, 18.1, 9.3, 0.6, 0.37};
    const Replayed span = replayed(planned(8, 24, limit, times, "span"), times);
    const Replayed makespan = replayed(planned(8, 24, limit, times, "makespan"), times);
    EXPECT_LE(span.span, makespan.span * (1 + 1e-8)) << limit;
    EXPECT_LE(makespan.makespan, span.makespan * (1 + 1e-8)) << limit;
    // The last rank cannot start before a forward has come through the others.
    EXPECT_GE(makespan.makespan, work(24, times) + 7 * (times.forward_s + times.message_s) - 1e-6) << limit;
  }
}

/// The planner's own clock agrees with the replay.
TEST(BubbleFilling, ExtentIsThatOfTheReplay) {
  for (const int ranks : {1, 2, 5}) {
    for (const double overrun : {0.0, 1.0}) {
      const schedules::FillingTask task{ranks, 9, 6, {1.9, 2.1, 0.7, 0.2, 0.4}};
      const schedules::FillingRule rule{std::vector<int>(static_cast<std::size_t>(ranks), 4),
                                        std::vector<int>(static_cast<std::size_t>(ranks), 3), overrun, true};
      const schedules::PassOrder order = schedules::fill_bubbles(task, rule);
      schedules::ScheduleTable table = planned(ranks, 9, 6, task.times);
      for (std::size_t rank = 0; rank < order.size(); ++rank) {
        int next[4] = {};
        table.actions[rank].clear();
        for (const schedules::ActionType type : order[rank]) {
          table.actions[rank].push_back({type, static_cast<int>(rank), next[static_cast<std::size_t>(type)]++});
        }
      }
      const schedules::Extent extent = schedules::extent_of(task, order);
      const Replayed measured = replayed(table, task.times);
      EXPECT_NEAR(extent.span_s, measured.span, 1e-9 * measured.span);
      EXPECT_NEAR(extent.makespan_s, measured.makespan, 1e-9 * measured.makespan);
    }
  }
}

}  // namespace
}  // namespace lamina::replay
