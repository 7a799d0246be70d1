#pragma once

#include <vector>

#include "schedules/schedule.hpp"
#include "sim/model/work.hpp"

namespace lamina::lowering {

/// The embedding, one transformer layer, or the head as held by one pipeline rank: what sharding restores and reduces
/// at a time (an FSDP unit). A stage whose chunk has several layers has several units.
struct Unit {
  int stage = 0;
  int layer = 0;  ///< 0..L-1; -1: embedding, L: head
  const model::LayerCost* cost = nullptr;
};

/// One action on one unit.
struct Task {
  schedules::ActionType type = schedules::ActionType::kForward;
  int stage = 0;
  int micro_batch = 0;
  int unit = 0;  ///< index into RoleTasks::units
  bool first_of_action = false;
  bool last_of_action = false;
};

/// Work of one pipeline rank in issue order.
struct RoleTasks {
  std::vector<Unit> units;  ///< by stage, then layer
  std::vector<Task> tasks;
};

/// Spreads the actions of `rank` over the layers of their stages: forwards ascend, backwards descend.
[[nodiscard]] RoleTasks tasks_of(const scenario::Strategy& strategy, const schedules::ScheduleTable& table, int rank,
                                 const model::WorkModel& work);

[[nodiscard]] constexpr bool needs_weights(schedules::ActionType type) {
  return type != schedules::ActionType::kWeightGradient;
}

[[nodiscard]] constexpr bool makes_gradients(schedules::ActionType type) {
  return type == schedules::ActionType::kBackward || type == schedules::ActionType::kWeightGradient;
}

}  // namespace lamina::lowering
