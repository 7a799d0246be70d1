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
  [[nodiscard]] OperationId find(int stage, int micro_batch, bool gradients) const;
  /// @throws InternalError when the stage is another rank's or there is no such micro-batch
  void set(int stage, int micro_batch, bool gradients, OperationId operation);

 private:
  [[nodiscard]] std::ptrdiff_t slot(int stage, int micro_batch, bool gradients) const;

  std::vector<int> row_of_stage_;  ///< -1: not on this rank
  int micro_batches_ = 0;
  std::vector<OperationId> operations_;
};

}  // namespace lamina::lowering
