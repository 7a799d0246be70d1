#include "schedules/split_backward_plans.hpp"

#include <algorithm>
#include <limits>

#include "schedules/split_backward.hpp"

namespace lamina::schedules {
namespace {

constexpr int kAsMemoryAllows = std::numeric_limits<int>::max();  // of lags
constexpr int kSteepest = 8;  // forwards more per rank towards the first; 2 suffice when F, I and W last equally long

int most_warm_up(const FillingTask& task) {
  return static_cast<int>(std::min(task.memory_limit, static_cast<double>(task.micro_batches)));
}

/// 1 forward on the last rank and `slope` more on each before it, at most `longest`; the lag grows by `lag_slope` from
/// none on the first rank.
SplitBackwardPlan plan_of(const FillingTask& task, int slope, int longest, int lag_slope) {
  SplitBackwardPlan plan;
  const double kept = std::max(task.times.kept_for_weight_gradient, 1e-3);
  for (int rank = 0; rank < task.ranks; ++rank) {
    const int warm_up = std::min({1 + slope * (task.ranks - 1 - rank), longest, most_warm_up(task)});
    const double fits = std::min((task.memory_limit - warm_up) / kept, static_cast<double>(task.micro_batches));
    const int lag = lag_slope == kAsMemoryAllows ? kAsMemoryAllows : lag_slope * rank;
    plan.warm_up.push_back(warm_up);
    plan.lag.push_back(std::min(lag, static_cast<int>(fits)));
  }
  return plan;
}

}  // namespace

std::vector<SplitBackwardPlan> split_backward_plans(const FillingTask& task, std::size_t most) {
  const int longest = most_warm_up(task);
  std::vector<SplitBackwardPlan> plans = {plan_of(task, 1, longest, 0), plan_of(task, 1, longest, 1),
                                          plan_of(task, 2, longest, 2)};
  for (int slope = 1; slope <= kSteepest; ++slope) {
    const int first_ranks = 1 + slope * (task.ranks - 1);
    for (int warm_up = std::min(longest, first_ranks); warm_up >= 1; --warm_up) {
      for (int lag_slope = 0; lag_slope <= slope + 2; ++lag_slope) {
        if (plans.size() >= most) {
          return plans;
        }
        plans.push_back(plan_of(task, slope, warm_up, lag_slope > slope + 1 ? kAsMemoryAllows : lag_slope));
      }
    }
    if (first_ranks >= longest) {
      break;
    }
  }
  return plans;
}

PassOrder order_of(const FillingTask& task, const SplitBackwardPlan& plan) {
  PassOrder order(plan.warm_up.size());
  std::vector<Action> row;
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    row.clear();
    write_split_backward_row(static_cast<int>(rank), task.micro_batches, plan.warm_up[rank], plan.lag[rank], row);
    order[rank].reserve(row.size());
    for (const Action& action : row) {
      order[rank].push_back(action.type);
    }
  }
  return order;
}

}  // namespace lamina::schedules
