#pragma once

#include <vector>

#include "schedules/schedule.hpp"

namespace lamina::schedules {

/// Appends the row of a one-stage rank whose backward is split (ZB-H1, ZB-H2): `warm_up` forwards; then per micro-batch
/// its input gradient, the weight gradient `lag` micro-batches behind, and the next forward; then the weight gradients
/// that are left.
inline void write_split_backward_row(int stage, int micro_batches, int warm_up, int lag, std::vector<Action>& row) {
  for (int forward = 0; forward < warm_up; ++forward) {
    row.push_back({ActionType::kForward, stage, forward});
  }
  for (int index = 0; index < micro_batches + lag; ++index) {
    if (index < micro_batches) {
      row.push_back({ActionType::kInputGradient, stage, index});
    }
    if (index >= lag) {
      row.push_back({ActionType::kWeightGradient, stage, index - lag});
    }
    if (warm_up + index < micro_batches) {
      row.push_back({ActionType::kForward, stage, warm_up + index});
    }
  }
}

}  // namespace lamina::schedules
