#pragma once

#include <memory>

#include "sim/collectives/collective.hpp"

namespace lamina::collectives {

/// Rings over all members, one channel per port.
///
/// Per member and channel: all-reduce 2(n - 1) steps of 1/n of the channel's share, reduce-scatter and all-gather n - 1
/// (Patarasuk and Yuan, J. Parallel Distrib. Comput. 69 (2009), sections 3 and 4, bandwidth-optimal); broadcast from
/// member 0 along the ring, cut into segments, whole buffer over each hop; all-to-all n - 1 shifts, member i to member
/// i + s. The byte factors are those of NCCL's bus bandwidth (nccl-tests, doc/PERFORMANCE.md).
///
/// Latency: the number of steps times the slowest hop. A member sends its next step only when its last one is sent and
/// received, so the member before the slowest hop is always busy with it and k steps take k times that hop; the mean
/// hop latency would be right only if members could send ahead. An all-to-all pays the slowest hop of each shift.
///
/// Fluid and message form are equal when the hop with the least bandwidth also has the most latency, as network against
/// device links; otherwise the fluid form is an upper bound. A broadcast in message form takes longer by the filling of
/// the pipeline, which its number of segments keeps below 1 % of the transfer, and by one latency per segment.
[[nodiscard]] std::unique_ptr<const Collective> make_ring();

/// Device links inside the island (node or domain), network between islands, member i of every island on a ring of its
/// own: all-reduce = reduce-scatter inside, all-reduce between, all-gather inside; reduce-scatter = inside, then
/// between; all-gather = between, then inside. Each is a chain of phases, each phase one flow over all its rings.
///
/// Falls back to the ring for broadcast and all-to-all, and for groups of one island, of one member per island, or of
/// islands of unequal size.
[[nodiscard]] std::unique_ptr<const Collective> make_hierarchical();

}  // namespace lamina::collectives
