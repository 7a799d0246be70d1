#pragma once

#include <array>
#include <vector>

#include "schedules/schedule.hpp"

namespace lamina::schedules {

/// What DualPipe's eight steps need to know of a rank. Phase 0 is the stage whose micro-batches reach the rank first.
struct DualPipeRank {
  int distance = 0;  ///< ranks between this one and the end where phase 0 enters
  int depth = 1;     ///< ranks from that end to the one where the two phases meet
  int micro_batches_per_phase = 1;
  std::array<int, 2> stages{};  ///< by phase
};

/// Appends the row of a rank of DualPipe or DualPipeV: forwards of one phase run paired with backwards of the other;
/// towards the end backwards are split, and the weight gradients wait in one queue.
void write_dual_pipe_row(const DualPipeRank& rank, std::vector<Action>& row);

}  // namespace lamina::schedules
