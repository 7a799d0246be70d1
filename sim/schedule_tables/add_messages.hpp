#pragma once

#include "schedules/schedule.hpp"

namespace lamina::schedule_tables {

/// Third pass of `lowered_rows`: sweeps the ranks in order, one action of each per sweep if its inputs are there; after
/// an action whose result another rank needs, the SEND is appended to its own row and the RECV to the other's. Nothing
/// is inserted between stages of one rank. O(log ranks) per action: ranks that wait are left out of the sweeps.
/// @param rows of the second pass, with the compute actions of `table`, which passes `find_fault`
/// @throws InternalError when no rank can go on
[[nodiscard]] schedules::LoweredRows add_messages(const schedules::ScheduleTable& table,
                                                  const schedules::LoweredRows& rows);

}  // namespace lamina::schedule_tables
