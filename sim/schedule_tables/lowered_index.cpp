#include "sim/schedule_tables/lowered_index.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "sim/schedule_tables/checks.hpp"
#include "sim/schedule_tables/lowered_table.hpp"

namespace lamina::schedule_tables {

using schedules::LoweredAction;
using schedules::LoweredType;

LoweredIndex::LoweredIndex(const schedules::ScheduleTable& table)
    : table_(table), micro_batches_(micro_batches_per_stage(table)) {
  for (std::vector<std::size_t>& positions : positions_) {
    positions.assign(table.stages.size() * static_cast<std::size_t>(micro_batches_), kNowhere);
  }
}

std::optional<TableFault> LoweredIndex::fill() {
  for (int rank = 0; rank < static_cast<int>(table_.lowered.size()); ++rank) {
    const std::vector<LoweredAction>& row = table_.lowered[static_cast<std::size_t>(rank)];
    for (std::size_t position = 0; position < row.size(); ++position) {
      if (std::string text = enter(rank, position); !text.empty()) {
        return TableFault{rank, position, std::move(text)};
      }
    }
  }
  return std::nullopt;
}

std::size_t LoweredIndex::position(LoweredType type, int stage, int micro_batch) const {
  return positions_[slot(type)][index(stage, micro_batch)];
}

std::size_t LoweredIndex::slot(LoweredType type) {
  switch (type) {
    case LoweredType::kForward:
      return 0;
    case LoweredType::kBackward:
    case LoweredType::kInputGradient:
      return 1;
    case LoweredType::kWeightGradient:
      return 2;
    case LoweredType::kSendForward:
      return 3;
    case LoweredType::kReceiveForward:
      return 4;
    case LoweredType::kSendBackward:
      return 5;
    default:
      return 6;
  }
}

std::size_t LoweredIndex::index(int stage, int micro_batch) const {
  return static_cast<std::size_t>(stage) * static_cast<std::size_t>(micro_batches_) +
         static_cast<std::size_t>(micro_batch);
}

std::string LoweredIndex::enter(int rank, std::size_t position) {
  const LoweredAction& action = table_.lowered[static_cast<std::size_t>(rank)][position];
  const auto cell = [&action] { return to_string(action); };
  if (action.stage < 0 || static_cast<std::size_t>(action.stage) >= table_.stages.size()) {
    return fmt::format("Rank {} issues {}, but the last stage is {}.", rank, cell(), table_.stages.size() - 1);
  }
  if (const int owner = table_.stages[static_cast<std::size_t>(action.stage)].rank; owner != rank) {
    return fmt::format("Rank {} issues {}, but stage {} belongs to rank {}.", rank, cell(), action.stage, owner);
  }
  if (action.type == LoweredType::kUnshard || action.type == LoweredType::kReshard ||
      action.type == LoweredType::kReduceGradients) {
    return "";
  }
  if (action.micro_batch < 0 || action.micro_batch >= micro_batches_) {
    return fmt::format("Rank {} issues {}, but stage {} has micro-batches 0 to {}.", rank, cell(), action.stage,
                       micro_batches_ - 1);
  }
  std::size_t& entered = positions_[slot(action.type)][index(action.stage, action.micro_batch)];
  if (entered != kNowhere) {
    return fmt::format("Rank {} issues {} twice, as actions {} and {} of its row.", rank, cell(), entered + 1,
                       position + 1);
  }
  entered = position;
  return "";
}

}  // namespace lamina::schedule_tables
