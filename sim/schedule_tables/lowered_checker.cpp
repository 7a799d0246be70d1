#include <cstddef>

#include <fmt/format.h>

#include "sim/schedule_tables/checker.hpp"
#include "sim/schedule_tables/checks.hpp"
#include "sim/schedule_tables/lowered_checks.hpp"
#include "sim/schedule_tables/lowered_table.hpp"

namespace lamina::schedule_tables {
namespace {

using schedules::Action;
using schedules::LoweredAction;
using schedules::ScheduleTable;

/// Fewer actions than its numbers promise: too little to be indexed by number.
bool is_too_short(const ScheduleTable& table) {
  std::size_t actions = 0;
  for (const std::vector<Action>& row : table.actions) {
    actions += row.size();
  }
  return actions / table.stages.size() < static_cast<std::size_t>(micro_batches_per_stage(table));
}

}  // namespace

std::optional<TableFault> find_compute_difference(const ScheduleTable& table) {
  if (table.lowered.size() != table.actions.size()) {
    return TableFault{0, 0,
                      fmt::format("The table has {} ranks with communication and {} without.", table.lowered.size(),
                                  table.actions.size())};
  }
  for (std::size_t rank = 0; rank < table.actions.size(); ++rank) {
    const std::vector<Action>& row = table.actions[rank];
    const std::vector<LoweredAction>& issued = table.lowered[rank];
    std::size_t next = 0;
    for (std::size_t position = 0; position < issued.size(); ++position) {
      const LoweredAction& action = issued[position];
      const TableFault here{static_cast<int>(rank), position, ""};
      if (!is_compute(action.type)) {
        if (position > 0 && issued[position - 1].paired_with_next) {
          return TableFault{here.rank, position,
                            fmt::format("Rank {} issues {} inside a pair.", rank, to_string(action))};
        }
        continue;
      }
      if (next == row.size() || lowered(row[next]) != action) {
        return TableFault{here.rank, position,
                          fmt::format("Rank {} computes {} where its schedule has {}.", rank, to_string(action),
                                      next == row.size() ? "nothing more" : to_string(row[next]))};
      }
      ++next;
    }
    if (next < row.size()) {
      return TableFault{static_cast<int>(rank), issued.size(),
                        fmt::format("Rank {} never computes {} of its schedule.", rank, to_string(row[next]))};
    }
  }
  return std::nullopt;
}

std::optional<TableFault> find_lowered_fault(const ScheduleTable& table) {
  if (auto fault = find_structure_fault(table)) {
    return fault;
  }
  if (is_too_short(table)) {
    return find_fault(table);
  }
  if (auto fault = find_compute_difference(table)) {
    return fault;
  }
  LoweredIndex index(table);
  if (auto fault = index.fill()) {
    return fault;
  }
  if (auto fault = find_message_fault(table, index)) {
    return fault;
  }
  if (auto fault = find_residency_fault(table)) {
    return fault;
  }
  if (auto fault = find_reduction_fault(table)) {
    return fault;
  }
  return find_message_deadlock(table, index);
}

}  // namespace lamina::schedule_tables
