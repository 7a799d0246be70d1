#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "schedules/schedule.hpp"

namespace lamina::schedules::testing {

inline tl::expected<ScheduleTable, error::Infeasible> make(const std::string& schedule,
                                                           const ScheduleRequest& request) {
  const auto catalog = builtin_schedules();
  return catalog.find(schedule)->implementation->table(request);
}

/// The cells of PyTorch's pipeline CSV, separated by spaces.
inline std::string text(const std::vector<Action>& row) {
  std::string result;
  bool paired = false;
  for (const Action& action : row) {
    if (paired) {
      result += ";" + to_string(action) + ")OVERLAP_F_B";
    } else {
      result += (result.empty() ? "" : " ") + std::string(action.paired_with_next ? "(" : "") + to_string(action);
    }
    paired = action.paired_with_next;
  }
  return result;
}

/// Most chunk activations of any rank, held from F to the end of B or W.
inline int peak_chunks(const ScheduleTable& table) {
  int peak = 0;
  for (const std::vector<Action>& row : table.actions) {
    int alive = 0;
    for (const Action& action : row) {
      if (action.type == ActionType::kForward) {
        peak = std::max(peak, ++alive);
      } else if (action.type != ActionType::kInputGradient) {
        --alive;
      }
    }
  }
  return peak;
}

}  // namespace lamina::schedules::testing
