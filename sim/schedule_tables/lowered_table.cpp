#include "sim/schedule_tables/lowered_table.hpp"

#include <cstddef>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "sim/error/error.hpp"
#include "sim/schedule_tables/add_messages.hpp"
#include "sim/schedule_tables/add_residency.hpp"

namespace lamina::schedule_tables {
namespace {

using schedules::Action;
using schedules::ActionType;
using schedules::LoweredAction;
using schedules::LoweredRows;
using schedules::LoweredType;
using schedules::ScheduleTable;

bool makes_weight_gradient(LoweredType type) {
  return type == LoweredType::kBackward || type == LoweredType::kWeightGradient;
}

/// Second pass: REDUCE_GRAD straight after a stage's last weight gradient, or after the pair that holds it.
std::vector<LoweredAction> add_reductions(const std::vector<LoweredAction>& row, std::vector<int>& gradients_left) {
  std::vector<LoweredAction> result;
  result.reserve(row.size() + row.size() / 4);
  std::vector<int> finished;
  for (const LoweredAction& action : row) {
    if (makes_weight_gradient(action.type)) {
      ++gradients_left[static_cast<std::size_t>(action.stage)];
    }
  }
  for (const LoweredAction& action : row) {
    result.push_back(action);
    if (makes_weight_gradient(action.type) && --gradients_left[static_cast<std::size_t>(action.stage)] == 0) {
      finished.push_back(action.stage);
    }
    if (!action.paired_with_next) {
      for (const int stage : finished) {
        result.push_back({.type = LoweredType::kReduceGradients, .stage = stage});
      }
      finished.clear();
    }
  }
  return result;
}

}  // namespace

LoweredAction lowered(const Action& action) {
  constexpr LoweredType kTypes[] = {LoweredType::kForward, LoweredType::kBackward, LoweredType::kInputGradient,
                                    LoweredType::kWeightGradient};
  return {kTypes[static_cast<std::size_t>(action.type)], action.stage, action.micro_batch, action.paired_with_next};
}

LoweredRows lowered_rows(const ScheduleTable& table, int resident_stages) {
  if (resident_stages < 1) {
    throw error::InternalError(fmt::format("lowering a schedule with {} resident stages", resident_stages));
  }
  ResidencyPass residency(table.stages.size(), static_cast<std::size_t>(resident_stages));
  std::vector<int> gradients_left(table.stages.size(), 0);
  LoweredRows rows(table.actions.size());
  for (std::size_t rank = 0; rank < rows.size(); ++rank) {
    rows[rank] = add_reductions(residency.row(table.actions[rank]), gradients_left);
  }
  return add_messages(table, rows);
}

std::string_view name_of(LoweredType type) {
  constexpr std::string_view kNames[] = {"F",           "B",      "I",      "W",      "UNSHARD", "RESHARD",
                                         "REDUCE_GRAD", "SEND_F", "RECV_F", "SEND_B", "RECV_B"};
  return kNames[static_cast<std::size_t>(type)];
}

std::string to_string(const LoweredAction& action) {
  std::string text = fmt::format("{}{}", action.stage, name_of(action.type));
  return action.micro_batch < 0 ? text : text + std::to_string(action.micro_batch);
}

bool is_compute(LoweredType type) {
  return type == LoweredType::kForward || type == LoweredType::kBackward || type == LoweredType::kInputGradient ||
         type == LoweredType::kWeightGradient;
}

}  // namespace lamina::schedule_tables
