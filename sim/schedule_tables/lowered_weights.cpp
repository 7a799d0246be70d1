#include <algorithm>
#include <cstddef>
#include <vector>

#include <fmt/format.h>

#include "sim/schedule_tables/lowered_checks.hpp"
#include "sim/schedule_tables/lowered_table.hpp"

namespace lamina::schedule_tables {
namespace {

using schedules::LoweredAction;
using schedules::LoweredType;
using schedules::ScheduleTable;

using Row = std::vector<LoweredAction>;

bool has_type(const Row& row, LoweredType type) {
  return std::any_of(row.begin(), row.end(), [type](const LoweredAction& action) { return action.type == type; });
}

bool makes_weight_gradient(LoweredType type) {
  return type == LoweredType::kBackward || type == LoweredType::kWeightGradient;
}

/// What is wrong with an action, given which stages' weights are resident before it; empty: nothing.
const char* residency_problem(const LoweredAction& action, bool resident) {
  if (action.type == LoweredType::kUnshard) {
    return resident ? "while its weights are there already" : "";
  }
  if (action.type == LoweredType::kReshard) {
    return resident ? "" : "while its weights are not there";
  }
  return is_compute(action.type) && !resident ? "without its weights: there is no UNSHARD of the stage before it" : "";
}

}  // namespace

std::optional<TableFault> find_residency_fault(const ScheduleTable& table) {
  std::vector<bool> resident(table.stages.size(), false);
  for (std::size_t rank = 0; rank < table.lowered.size(); ++rank) {
    const Row& row = table.lowered[rank];
    if (!has_type(row, LoweredType::kUnshard) && !has_type(row, LoweredType::kReshard)) {
      continue;  // never sharded
    }
    for (std::size_t position = 0; position < row.size(); ++position) {
      const LoweredAction& action = row[position];
      const auto stage = static_cast<std::size_t>(action.stage);
      if (const std::string_view problem = residency_problem(action, resident[stage]); !problem.empty()) {
        return TableFault{static_cast<int>(rank), position,
                          fmt::format("Rank {} {} {} {}.", rank, is_compute(action.type) ? "computes" : "issues",
                                      to_string(action), problem)};
      }
      if (action.type == LoweredType::kUnshard || action.type == LoweredType::kReshard) {
        resident[stage] = action.type == LoweredType::kUnshard;
      }
    }
  }
  return std::nullopt;
}

std::optional<TableFault> find_reduction_fault(const ScheduleTable& table) {
  const bool reduces = std::any_of(table.lowered.begin(), table.lowered.end(),
                                   [](const Row& row) { return has_type(row, LoweredType::kReduceGradients); });
  if (!reduces) {
    return std::nullopt;
  }
  std::vector<bool> reduced(table.stages.size(), false);
  for (std::size_t rank = 0; rank < table.lowered.size(); ++rank) {
    const Row& row = table.lowered[rank];
    for (std::size_t position = 0; position < row.size(); ++position) {
      const LoweredAction& action = row[position];
      const auto stage = static_cast<std::size_t>(action.stage);
      const bool is_reduction = action.type == LoweredType::kReduceGradients;
      if (reduced[stage] && (is_reduction || makes_weight_gradient(action.type))) {
        return TableFault{static_cast<int>(rank), position,
                          fmt::format("Rank {} issues {} after the gradients of stage {} were reduced.", rank,
                                      to_string(action), stage)};
      }
      reduced[stage] = reduced[stage] || is_reduction;
    }
  }
  const auto missing = std::find(reduced.begin(), reduced.end(), false);
  if (missing == reduced.end()) {
    return std::nullopt;
  }
  const auto stage = static_cast<std::size_t>(missing - reduced.begin());
  const int rank = table.stages[stage].rank;
  return TableFault{rank, table.lowered[static_cast<std::size_t>(rank)].size(),
                    fmt::format("Rank {} never issues {}REDUCE_GRAD, while other stages are reduced.", rank, stage)};
}

}  // namespace lamina::schedule_tables
