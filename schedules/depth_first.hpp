#pragma once

#include <vector>

#include <tl/expected.hpp>

#include "schedules/schedule.hpp"

/// Depth-first order over the chunks of a looping pipeline: groups of micro-batches pass all chunks of a rank before
/// the next group starts. Shared by the interleaved schedules with whole and with split backward.
namespace lamina::schedules {

/// The parameter `micro_batch_group_size` of the interleaved schedules.
[[nodiscard]] catalog::ParameterSpec group_size_parameter();

/// Micro-batches of a group: the parameter, or by PyTorch's rule m / max(1, m div p).
/// @return Infeasible when the rule does not divide m, or when one of several groups is shorter than the pipeline: most
/// such orders deadlock (Megatron-LM has the same limit)
[[nodiscard]] tl::expected<int, error::Infeasible> depth_first_group(const ScheduleRequest& request,
                                                                     int chunks_per_rank);

/// One pass of one chunk.
struct ChunkPass {
  int micro_batch = 0;
  int chunk = 0;  ///< of the rank
};

/// The v m forward passes of a rank in order; the k-th backward pass is of the same micro-batch and chunk v - 1 - c.
[[nodiscard]] std::vector<ChunkPass> depth_first_passes(int micro_batches, int chunks_per_rank, int group);

}  // namespace lamina::schedules
