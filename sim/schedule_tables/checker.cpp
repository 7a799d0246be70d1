#include "sim/schedule_tables/checker.hpp"

#include "sim/schedule_tables/checks.hpp"

namespace lamina::schedule_tables {

std::optional<TableFault> find_fault(const schedules::ScheduleTable& table) {
  for (const auto& find : {find_structure_fault, find_completeness_fault, find_deadlock_fault}) {
    if (auto fault = find(table)) {
      return fault;
    }
  }
  return std::nullopt;
}

}  // namespace lamina::schedule_tables
