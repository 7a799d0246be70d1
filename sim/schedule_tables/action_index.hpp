#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "schedules/schedule.hpp"

namespace lamina::schedule_tables {

/// Where an action of a stage stands in its rank's row.
struct IndexedAction {
  int micro_batch = 0;
  schedules::ActionType type = schedules::ActionType::kForward;
  std::size_t position = 0;
};

/// The actions of a table by stage, each sorted by micro-batch, type and position. The table must have passed
/// `find_structure_fault`.
class ActionIndex {
 public:
  explicit ActionIndex(const schedules::ScheduleTable& table);

  [[nodiscard]] std::span<const IndexedAction> of_stage(std::size_t stage) const {
    return std::span(entries_).subspan(first_[stage], first_[stage + 1] - first_[stage]);
  }

 private:
  std::vector<std::size_t> first_;  ///< by stage, and one beyond
  std::vector<IndexedAction> entries_;
};

}  // namespace lamina::schedule_tables
