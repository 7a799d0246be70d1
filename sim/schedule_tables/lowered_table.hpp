#pragma once

#include <string>
#include <string_view>

#include "schedules/schedule.hpp"

/// What can be done with a schedule's table besides running it: check, lower as PyTorch does, read and write as CSV.
namespace lamina::schedule_tables {

/// Inserts communication into a compute-only table as torch.distributed.pipelining's schedule runtime does, in three
/// passes: UNSHARD and RESHARD around the next `resident_stages` distinct stages in order of use; REDUCE_GRAD after a
/// stage's last weight gradient; SEND and RECV by sweeping the ranks in order, one action of each per sweep, with the
/// RECV appended to its rank as soon as the SEND is issued. Evictions at one point come in ascending order of stage.
/// The table must pass `find_fault`.
[[nodiscard]] schedules::LoweredRows lowered_rows(const schedules::ScheduleTable& table, int resident_stages = 3);

/// "0F3", "2UNSHARD", "1SEND_F4": the cell text of PyTorch's pipeline CSV.
[[nodiscard]] std::string to_string(const schedules::LoweredAction& action);

/// "F", "UNSHARD", "SEND_F", ...: the type's name in a cell.
[[nodiscard]] std::string_view name_of(schedules::LoweredType type);

[[nodiscard]] bool is_compute(schedules::LoweredType type);

/// The same compute action in a lowered row.
[[nodiscard]] schedules::LoweredAction lowered(const schedules::Action& action);

}  // namespace lamina::schedule_tables
