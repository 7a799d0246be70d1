#pragma once

#include <cstdint>
#include <vector>

#include "sim/metrics/step.hpp"

namespace lamina::metrics {

/// What one device of a pipeline rank sends, gathers and reduces per step.
struct ActivityCounts {
  std::int64_t messages = 0;    ///< sent to other pipeline ranks
  double message_bytes = 0;     ///< of all of them
  std::int64_t restores = 0;    ///< gathers of sharded weights, one layer each
  double restored_bytes = 0;    ///< weights gathered: payload per device, before the algorithm
  std::int64_t reductions = 0;  ///< sums of gradients over the data-parallel group, one layer each
};

[[nodiscard]] ActivityCounts counts_of(const graph::Program& program);

/// Most activations that a rank holds at once, in micro-batches of its whole share of the model: a stage of a
/// micro-batch is held from the start of its forward to the end of its weight gradient and counts as the stage's part
/// of the rank's transformer layers, so that v chunks count 1/v each. Where ranks hold several copies of the model
/// (DualPipe), the whole share is one copy's. What ends and starts at one moment (within 1e-9 of the step) is not held
/// together.
///
/// The figure of the tables of pipeline schedules: min(m, p - r) for 1F1B, m for GPipe. It does not depend on what is
/// kept of an activation (recomputation, offload): bytes are in memory_of_ranks.
/// @param layers of the model; embedding and head count nothing
/// @return by deployment rank. Time n log n in operations
[[nodiscard]] std::vector<double> peak_activations(const Step& step, int layers);

}  // namespace lamina::metrics
