#pragma once

#include <memory>
#include <string_view>

#include "sim/collectives/collective.hpp"

namespace lamina::collectives {

inline constexpr std::string_view kRing = "ring";
inline constexpr std::string_view kHierarchical = "hierarchical";
inline constexpr std::string_view kTree = "tree";
inline constexpr std::string_view kNvls = "nvls";
inline constexpr std::string_view kSharp = "sharp";

/// Rings over all members, one channel per port.
///
/// Per member and channel: all-reduce 2(n - 1) steps of 1/n of the channel's share, reduce-scatter and all-gather n - 1
/// (Patarasuk and Yuan, J. Parallel Distrib. Comput. 69 (2009), sections 3 and 4, bandwidth-optimal); broadcast from
/// member 0 along the ring, cut into segments, whole buffer over each hop; all-to-all n - 1 shifts, member i to member
/// i + s. The byte factors are those of NCCL's bus bandwidth (nccl-tests, doc/PERFORMANCE.md).
///
/// Latency: the number of steps times the mean hop. A piece goes round the ring over all its hops, and members send
/// ahead into their neighbours' buffers (NCCL has eight slots; its tuner adds the hops up in the same way). An
/// all-to-all pays the slowest hop of each shift. In message form a member waits until its last step is sent and
/// received, so that steps take the slowest hop each: equal on hops of equal latency, else longer by microseconds.
///
/// A broadcast in message form takes longer by the filling of the pipeline, which its number of segments keeps below
/// 1 % of the transfer, and by one latency per segment.
[[nodiscard]] std::unique_ptr<const Collective> make_ring();

/// All-reduce over two binary trees of nodes (or device-link domains), half of the payload each, in the nodes chains of
/// all members from the device at the port: up to the root and down again, in a pipeline. A node that is inside one
/// tree is a leaf of the other (Sanders, Speck and Traff, Parallel Computing 35 (2009), section 3: in-order numbering,
/// and its mirror image for an even number of nodes or its shift for an odd one), so that no port carries more than
/// 2 S / ports each way, and among two nodes S / ports, where a ring carries 2 (n - 1) / n S / ports. One pair of trees
/// per port. Latency: twice the deepest tree's chain and levels.
///
/// Everything else, and groups of one island, are left to the ring.
[[nodiscard]] std::unique_ptr<const Collective> make_tree();

/// NVLink SHARP (NCCL 2.17): the switch of a device-link domain reduces and multicasts. Per device of n in the domain
/// an all-reduce sends and receives (1 + 1/n) S, a reduce-scatter sends S and receives S/n, an all-gather the reverse.
/// Between domains an all-reduce goes over the trees of make_tree, rooted in the ports, in one pipeline with the
/// switches' part (NCCL: NVLSTree).
///
/// Everything else is left to the ring, so are groups with a domain of one member. No message form.
[[nodiscard]] std::unique_ptr<const Collective> make_nvls();

/// In-network reduction by the network's switches (InfiniBand SHARP; NCCL: CollNet): an all-reduce as `hierarchical`
/// makes it, but between nodes every port sends its share once and receives the sum once. Graham et al., SHARP, COMHPC
/// 2016.
///
/// Everything else is left to `hierarchical`. No message form.
[[nodiscard]] std::unique_ptr<const Collective> make_sharp();

/// What NCCL chooses among by size: ring and tree; NVLS and SHARP where a protocol of the links names them. The message
/// form is the ring's.
[[nodiscard]] std::unique_ptr<const Collective> make_automatic();

/// Device links inside the island (node or domain), network between islands, member i of every island on a ring of its
/// own: all-reduce = reduce-scatter inside, all-reduce between, all-gather inside; reduce-scatter = inside, then
/// between; all-gather = between, then inside. Each is a chain of phases, each phase one flow over all its rings.
///
/// Falls back to the ring for broadcast and all-to-all, and for groups of one island, of one member per island, or of
/// islands of unequal size.
[[nodiscard]] std::unique_ptr<const Collective> make_hierarchical();

}  // namespace lamina::collectives
