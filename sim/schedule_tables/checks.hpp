#pragma once

#include <optional>

#include "schedules/schedule.hpp"
#include "sim/schedule_tables/checker.hpp"

/// The parts of `find_fault`, in the order in which they must pass.
namespace lamina::schedule_tables {

/// Stages that do not fit to each other, actions of stages that do not exist or live on another rank, broken pairs.
[[nodiscard]] std::optional<TableFault> find_structure_fault(const schedules::ScheduleTable& table);

/// Actions that are there twice, out of range, missing, or before their own forward or input gradient.
[[nodiscard]] std::optional<TableFault> find_completeness_fault(const schedules::ScheduleTable& table);

/// A cycle of in-order rows that wait for each other. The table must be complete.
[[nodiscard]] std::optional<TableFault> find_deadlock_fault(const schedules::ScheduleTable& table);

/// Micro-batches that each stage computes, numbered from 0; copies of the model share the table's.
[[nodiscard]] inline int micro_batches_per_stage(const schedules::ScheduleTable& table) {
  return table.micro_batches / (static_cast<int>(table.stages.size()) / table.model_chunks);
}

[[nodiscard]] inline bool is_split(schedules::ActionType type) {
  return type == schedules::ActionType::kInputGradient || type == schedules::ActionType::kWeightGradient;
}

}  // namespace lamina::schedule_tables
