#pragma once

#include <cstddef>
#include <span>

#include "sim/graph/operation_graph.hpp"
#include "validate/cpu/transport.hpp"

namespace lamina::validate::cpu {

/// A member of a ring: it sends to the next one and receives from the one before.
struct RingMember {
  int index = 0;
  int size = 1;
  std::size_t out = 0;  ///< pipe
  std::size_t in = 0;
};

/// Ring collectives on `buffer`, in shards of a `size`-th each: reduce-scatter leaves in member i's shard i the mean
/// over the members, all-gather brings every member's own shard to all, all-reduce does both. Patarasuk and Yuan
/// (2009): each member sends (n - 1) / n of the buffer in a phase.
/// @param scratch at least the largest shard
/// @throws InternalError for another kind
void run_ring(graph::CollectiveKind kind, const RingMember& member, std::span<float> buffer, std::span<float> scratch,
              Transport& transport);

}  // namespace lamina::validate::cpu
