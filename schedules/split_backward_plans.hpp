#pragma once

#include <cstddef>
#include <vector>

#include "schedules/bubble_filling.hpp"

/// The rows of `write_split_backward_row` as plans within a memory limit: 1F1B with each weight gradient right after
/// its input gradient, ZB-H1 and ZB-H2 (Qi et al., arXiv 2401.10241, sections 2.1 and 2.2), and what lies between.
namespace lamina::schedules {

struct SplitBackwardPlan {
  std::vector<int> warm_up;  ///< by rank: forwards before the first input gradient; never more than the rank before
  std::vector<int> lag;      ///< by rank: micro-batches from an input gradient to the weight gradient after it
};

/// At most `most` plans, and at least the first three: 1F1B, ZB-H1, ZB-H2, each with its warm-ups and lags cut down to
/// the limit where it needs more. No rank exceeds `task.memory_limit` when a forward ends (the moment of the peak while
/// times.kept_for_weight_gradient <= 1).
[[nodiscard]] std::vector<SplitBackwardPlan> split_backward_plans(const FillingTask& task, std::size_t most);

[[nodiscard]] PassOrder order_of(const FillingTask& task, const SplitBackwardPlan& plan);

}  // namespace lamina::schedules
