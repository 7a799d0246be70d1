#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "schedules/schedule.hpp"

namespace lamina::schedule_tables {

/// What is wrong with a table, and where.
struct TableFault {
  int rank = 0;
  std::size_t position = 0;  ///< in the rank's row; its length: at the end of the row
  std::string text;  ///< whole sentences: "Rank 3 computes ...". Names rank, action and, for a deadlock, the cycle
};

/// The first fault of the compute actions, in this order: a stage or rank that does not exist; an action on a rank that
/// does not own its stage; an action twice; a micro-batch out of range (with a hint when a row counts from 1); an
/// action that is missing (no F, neither B nor I and W, an I without W); a backward before its forward, a W before its
/// I; a deadlock of the in-order rows, with the cycle: who waits for what that waits for whom. Near-linear in the
/// actions.
[[nodiscard]] std::optional<TableFault> find_fault(const schedules::ScheduleTable& table);

/// The first fault of `table.lowered`, whose compute actions must be those of `table.actions`: a send without its
/// receive or the reverse, on the wrong rank, twice, before its producer or after its consumer; messages between two
/// ranks that are not received in the order in which they are sent (NCCL has no tags); a compute action without
/// resident weights (where the rank has UNSHARD at all); UNSHARD of what is resident, RESHARD of what is not; a
/// REDUCE_GRAD missing, twice or before the stage's last gradient (where there is any); a deadlock when each row is
/// executed in order, sends are asynchronous and receives wait. Positions are those of the lowered rows. The table must
/// have passed `find_fault`.
[[nodiscard]] std::optional<TableFault> find_lowered_fault(const schedules::ScheduleTable& table);

}  // namespace lamina::schedule_tables
