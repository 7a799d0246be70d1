#pragma once

#include <optional>

#include "schedules/schedule.hpp"
#include "sim/schedule_tables/checker.hpp"
#include "sim/schedule_tables/lowered_index.hpp"

/// The parts of `find_lowered_fault`, in the order in which they must pass.
namespace lamina::schedule_tables {

/// Compute actions of the lowered rows that are not those of the table.
[[nodiscard]] std::optional<TableFault> find_compute_difference(const schedules::ScheduleTable& table);

/// Messages that have one end only, lead nowhere, come too early or too late, or overtake each other.
[[nodiscard]] std::optional<TableFault> find_message_fault(const schedules::ScheduleTable& table,
                                                           const LoweredIndex& index);

/// Weights that are not there when they are used or dropped, or are gathered twice.
[[nodiscard]] std::optional<TableFault> find_residency_fault(const schedules::ScheduleTable& table);

/// Reductions that are missing, too early, or twice.
[[nodiscard]] std::optional<TableFault> find_reduction_fault(const schedules::ScheduleTable& table);

/// A cycle of rows that wait for each other's messages.
[[nodiscard]] std::optional<TableFault> find_message_deadlock(const schedules::ScheduleTable& table,
                                                              const LoweredIndex& index);

}  // namespace lamina::schedule_tables
