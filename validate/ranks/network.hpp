#pragma once

#include <memory>
#include <string>
#include <vector>

#include "validate/ranks/launch.hpp"

namespace lamina::validate::ranks {

/// Nodes of a network that exists on this machine only: each a network namespace with one port, joined by a bridge. The
/// port's rate is kept by a token bucket (tc-tbf), in both directions.
struct ShapedNetwork {
  std::vector<int> node_of_rank;
  double bytes_per_s = 0;  ///< of a port, what a long TCP stream carries
};

/// Largest packet that a sender hands to its port (segmentation offload): 0.1 ms of the rate, 8 to 64 KiB.
/// Larger ones cost less processor time, but would need a larger bucket.
[[nodiscard]] double segment_bytes(double bytes_per_s);

/// Bytes that a port lets through at once after a pause: a segment, and what passes until a timer has been served
/// (0.15 ms); at most 256 KiB. So much of an isolated message is faster than the link.
[[nodiscard]] double burst_bytes(double bytes_per_s);

/// Where a rank listens.
[[nodiscard]] std::string address_of_node(int node);

/// As `launch`, the ranks in network namespaces of a user namespace: no privileges, no names, nothing that outlives the
/// processes. Needs iproute2 (`ip`, `tc`).
/// @throws EnvironmentError with what was refused, where the system allows no such namespaces
[[nodiscard]] std::unique_ptr<Coordinator> launch_in_network(int count, const ShapedNetwork& network,
                                                             const RankBody& body);

}  // namespace lamina::validate::ranks
