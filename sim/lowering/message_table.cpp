#include "sim/lowering/message_table.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/error/error.hpp"

namespace lamina::lowering {

MessageTable::MessageTable(const schedules::ScheduleTable& table, int rank)
    : row_of_stage_(table.stages.size(), -1), micro_batches_(table.micro_batches) {
  int rows = 0;
  for (std::size_t stage = 0; stage < table.stages.size(); ++stage) {
    if (table.stages[stage].rank == rank) {
      row_of_stage_[stage] = rows++;
    }
  }
  for (const schedules::Action& action : table.actions[static_cast<std::size_t>(rank)]) {
    micro_batches_ = std::max(micro_batches_, action.micro_batch + 1);
  }
  operations_.assign(static_cast<std::size_t>(rows) * static_cast<std::size_t>(micro_batches_) * 2, kNoOperation);
}

void MessageTable::set(int stage, int micro_batch, bool gradients, OperationId operation) {
  const std::ptrdiff_t index = slot(stage, micro_batch, gradients);
  if (index < 0) {
    throw error::InternalError(fmt::format("stage {}, micro-batch {} is not this rank's", stage, micro_batch));
  }
  operations_[static_cast<std::size_t>(index)] = operation;
}

}  // namespace lamina::lowering
