// The automatic schedule against the schedules with fixed rules, with random times. Tables are executed by a small
// simulation of this file, not by the planner's.
#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "schedules/schedule.hpp"
#include "tests/unit/schedules/table_text.hpp"

namespace lamina::schedules {
namespace {

using testing::make;

struct Case {
  int ranks = 2;
  int micro_batches = 2;
  RankTimes times = {};
};

struct Executed {
  double makespan = 0;
  double span = 0;
  double peak = 0;  ///< activations of a rank in micro-batches
};

/// Ends of F (0) and I (1) by rank and micro-batch; below 0: not run yet.
using Ends = std::array<std::vector<std::vector<double>>, 2>;

/// When the input of a pass is there; below 0: not known yet.
double input_at(const Case& what, const Ends& ends, std::size_t rank, const Action& action) {
  const auto index = static_cast<std::size_t>(action.micro_batch);
  const auto received = [&](double end) { return end < 0 ? end : end + what.times.message_s; };
  if (action.type == ActionType::kForward) {
    return rank == 0 ? 0 : received(ends[0][rank - 1][index]);
  }
  if (action.type == ActionType::kInputGradient) {
    return rank + 1 == ends[0].size() ? ends[0][rank][index] : received(ends[1][rank + 1][index]);
  }
  return ends[1][rank][index];
}

double peak_of(const std::vector<Action>& row, double kept) {
  double alive = 0;
  double peak = 0;
  for (const Action& action : row) {
    alive += action.type == ActionType::kForward ? 1 : action.type == ActionType::kInputGradient ? kept - 1 : -kept;
    peak = std::max(peak, alive);
  }
  return peak;
}

/// In order on every rank, each pass as soon as its input is there. Fails the test when ranks wait for each other.
Executed execute(const Case& what, const std::vector<std::vector<Action>>& rows) {
  Ends ends;
  ends.fill(std::vector(rows.size(), std::vector<double>(static_cast<std::size_t>(what.micro_batches), -1)));
  std::vector<std::size_t> next(rows.size(), 0);
  std::vector<double> free(rows.size(), 0);
  std::vector<double> first(rows.size(), 0);
  std::size_t left = 3 * rows.size() * static_cast<std::size_t>(what.micro_batches);
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t rank = 0; rank < rows.size(); ++rank) {
      if (next[rank] == rows[rank].size()) {
        continue;
      }
      const Action& action = rows[rank][next[rank]];
      const double input = input_at(what, ends, rank, action);
      if (input < 0) {
        continue;
      }
      const double start = std::max(input, free[rank]);
      first[rank] = next[rank]++ == 0 ? start : first[rank];
      const bool forward = action.type == ActionType::kForward;
      const bool gradient = action.type == ActionType::kInputGradient;
      free[rank] = start + (forward    ? what.times.forward_s
                            : gradient ? what.times.input_gradient_s
                                       : what.times.weight_gradient_s);
      if (forward || gradient) {
        ends[forward ? 0 : 1][rank][static_cast<std::size_t>(action.micro_batch)] = free[rank];
      }
      moved = true;
      --left;
    }
  }
  EXPECT_EQ(left, 0U) << "ranks wait for each other";
  Executed result;
  for (std::size_t rank = 0; rank < rows.size(); ++rank) {
    result.makespan = std::max(result.makespan, free[rank]);
    result.span = std::max(result.span, free[rank] - first[rank]);
    result.peak = std::max(result.peak, peak_of(rows[rank], what.times.kept_for_weight_gradient));
  }
  return result;
}

Executed executed(const Case& what, const std::string& schedule, int limit = 0,
                  const std::string& objective = "makespan") {
  ScheduleRequest request{what.ranks, what.micro_batches, what.ranks, {}, what.times};
  request.parameters.set_number("memory_limit", limit);
  request.parameters.set_choice("objective", objective);
  return execute(what, make(schedule, request).value().actions);
}

/// 1F1B with each backward as its input gradient and its weight gradient.
Executed one_forward_one_backward(const Case& what) {
  const ScheduleRequest request{what.ranks, what.micro_batches, what.ranks, {}, what.times};
  std::vector<std::vector<Action>> rows;
  const ScheduleTable table = make("one_forward_one_backward", request).value();
  for (const std::vector<Action>& row : table.actions) {
    std::vector<Action>& split = rows.emplace_back();
    for (const Action& action : row) {
      if (action.type == ActionType::kForward) {
        split.push_back(action);
      } else {
        split.push_back({ActionType::kInputGradient, action.stage, action.micro_batch});
        split.push_back({ActionType::kWeightGradient, action.stage, action.micro_batch});
      }
    }
  }
  return execute(what, rows);
}

void expect_no_worse_than_fixed_rules(const Case& what) {
  SCOPED_TRACE(::testing::Message() << "p " << what.ranks << ", m " << what.micro_batches << ", F "
                                    << what.times.forward_s << ", I " << what.times.input_gradient_s << ", W "
                                    << what.times.weight_gradient_s << ", message " << what.times.message_s << ", kept "
                                    << what.times.kept_for_weight_gradient);
  constexpr double kRounding = 1 + 1e-7;  // the planner takes sums that differ by rounding for equal
  const Executed split = one_forward_one_backward(what);
  const Executed h1 = executed(what, "zero_bubble_h1");
  const Executed h2 = executed(what, "zero_bubble_h2");
  const int twice = 2 * what.ranks - 1;
  const Executed narrow = executed(what, "zero_bubble_auto", what.ranks);
  const Executed wide = executed(what, "zero_bubble_auto", twice);
  EXPECT_LE(narrow.makespan, std::min(split.makespan, h1.makespan) * kRounding);
  EXPECT_LE(wide.makespan, std::min({split.makespan, h1.makespan, h2.makespan}) * kRounding);
  const Executed narrow_span = executed(what, "zero_bubble_auto", what.ranks, "span");
  const Executed wide_span = executed(what, "zero_bubble_auto", twice, "span");
  EXPECT_LE(narrow_span.span, std::min(split.span, h1.span) * kRounding);
  EXPECT_LE(wide_span.span, std::min({split.span, h1.span, h2.span}) * kRounding);
  EXPECT_LE(std::max(narrow.peak, narrow_span.peak), what.ranks + 1e-9);
  EXPECT_LE(std::max(wide.peak, wide_span.peak), twice + 1e-9);
}

TEST(ZeroBubbleAuto, IsNoWorseThanFixedRulesOfTheSameMemoryWhereGreedAloneIs) {
  for (const Case& what : {Case{8, 20, {1, 1.3, 1.3, 0, 1}},
                           {5, 20, {0.5, 1.3, 1, 0, 1}},
                           {6, 18, {0.5, 2, 1, 0, 1}},
                           {3, 9, {1, 7, 7, 0, 1}},
                           {8, 24, {0.5, 0.5, 0.5, 0.0083, 1}}}) {
    expect_no_worse_than_fixed_rules(what);
  }
}

TEST(ZeroBubbleAuto, IsNoWorseThanFixedRulesOfTheSameMemoryForRandomTimes) {
  std::mt19937 generator(20240110);
  // Not std::uniform_*_distribution: their numbers depend on the standard library.
  const auto number = [&](double from, double to) {
    return from + (to - from) * (static_cast<double>(generator()) / 4294967296.0);
  };
  for (int index = 0; index < 400; ++index) {
    Case what;
    what.ranks = static_cast<int>(number(2, 9));
    what.micro_batches = static_cast<int>(number(what.ranks, 3 * what.ranks + 1));
    const double message = index % 3 == 0 ? 0 : number(0, index % 3 == 1 ? 0.1 : 2);
    const double kept = index % 2 == 0 ? 1 : number(0.2, 1);
    what.times = {number(0.2, 2), number(0.2, 3), number(0.2, 3), message, kept};
    expect_no_worse_than_fixed_rules(what);
  }
}

}  // namespace
}  // namespace lamina::schedules
