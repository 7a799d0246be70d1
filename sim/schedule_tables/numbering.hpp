#pragma once

#include <optional>

#include "schedules/schedule.hpp"
#include "sim/schedule_tables/action_index.hpp"
#include "sim/schedule_tables/checker.hpp"

namespace lamina::schedule_tables {

/// Micro-batches that are numbered from 1, in one row (which makes others look incomplete) or in all of them. Says so
/// instead of naming the first number that is missing. No action may be there twice.
[[nodiscard]] std::optional<TableFault> find_numbering_fault(const schedules::ScheduleTable& table,
                                                             const ActionIndex& index);

}  // namespace lamina::schedule_tables
