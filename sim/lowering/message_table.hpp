#pragma once

#include <cstddef>
#include <vector>

#include "schedules/schedule.hpp"
#include "sim/lowering/program_builder.hpp"

namespace lamina::lowering {

/// One operation for each stage of a rank, micro-batch and direction: its receive, or the last of its compute.
class MessageTable {
 public:
  MessageTable() = default;
  MessageTable(const schedules::ScheduleTable& table, int rank);

  /// kNoOperation when there is none, or the stage is another rank's.
  [[nodiscard]] OperationId find(int stage, int micro_batch, bool gradients) const {
    const std::ptrdiff_t index = slot(stage, micro_batch, gradients);
    return index < 0 ? kNoOperation : operations_[static_cast<std::size_t>(index)];
  }

  /// @throws InternalError when the stage is another rank's or there is no such micro-batch
  void set(int stage, int micro_batch, bool gradients, OperationId operation);

 private:
  [[nodiscard]] std::ptrdiff_t slot(int stage, int micro_batch, bool gradients) const {
    const bool known = stage >= 0 && static_cast<std::size_t>(stage) < row_of_stage_.size() && micro_batch >= 0 &&
                       micro_batch < micro_batches_ && row_of_stage_[static_cast<std::size_t>(stage)] >= 0;
    if (!known) {
      return -1;
    }
    const auto row = static_cast<std::ptrdiff_t>(row_of_stage_[static_cast<std::size_t>(stage)]);
    return (row * micro_batches_ + micro_batch) * 2 + (gradients ? 1 : 0);
  }

  std::vector<int> row_of_stage_;  ///< -1: not on this rank
  int micro_batches_ = 0;
  std::vector<OperationId> operations_;
};

}  // namespace lamina::lowering
