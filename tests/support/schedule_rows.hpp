#pragma once

#include <cctype>
#include <sstream>
#include <string>
#include <vector>

#include "schedules/schedule.hpp"

/// Tables written down in tests.
namespace lamina::tests {

/// "0F3 (1F0;0B1) 2W4": cells of PyTorch's pipeline CSV, a pair in brackets. No checks.
inline std::vector<schedules::Action> actions_of(const std::string& row) {
  std::vector<schedules::Action> result;
  std::string spaced;
  for (const char character : row) {
    spaced += character == ';' ? std::string(" ") : std::string(1, character);
  }
  std::istringstream cells(spaced);
  for (std::string cell; cells >> cell;) {
    schedules::Action action;
    if (cell.front() == '(') {
      action.paired_with_next = true;
      cell.erase(0, 1);
    }
    std::istringstream parts(cell);
    char type = 'F';
    parts >> action.stage >> type >> action.micro_batch;
    action.type = static_cast<schedules::ActionType>(std::string("FBIW").find(type));
    result.push_back(action);
  }
  return result;
}

/// One chain of looping stages, as many per rank as asked for.
inline schedules::ScheduleTable table_of(const std::vector<std::string>& rows, int micro_batches,
                                         int chunks_per_rank = 1) {
  schedules::ScheduleTable table;
  const int ranks = static_cast<int>(rows.size());
  table.model_chunks = ranks * chunks_per_rank;
  table.micro_batches = micro_batches;
  table.stages = schedules::looping_placement(ranks, table.model_chunks);
  for (const std::string& row : rows) {
    table.actions.push_back(actions_of(row));
  }
  return table;
}

}  // namespace lamina::tests
