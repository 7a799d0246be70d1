#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sim/fabric/fabric.hpp"

namespace lamina::fabric {

/// Switches as a tree, or as several that are not joined. A vertex is one switch, or a stage of parallel switches that
/// traffic is spread over evenly (all spines of a leaf-spine network, the core of a fat tree), so that its links to one
/// neighbour are one bundled link per direction and each pair of ports has one route. This is a folded Clos network
/// under perfect load balancing (packet spraying, adaptive routing): hash collisions of static ECMP are not modelled.
struct SwitchTree {
  /// [switch]; roots (one per plane) come first and have parent -1; parents come before children
  std::vector<std::int32_t> parent;
  std::vector<BytesPerSecond> trunk;         ///< [switch] to and from its parent, each direction; a root's is not used
  std::vector<std::int32_t> switch_of_port;  ///< [port]
  std::function<std::string(std::int32_t)> name;  ///< of a switch, for link names
};

/// Adds the trunk links of `tree` behind the ports of `fabric` and sets network_route and trunk_name. Trees are planes:
/// their ports must carry the number of their root.
///
/// `never_limits` marks trunks whose limit follows from links that stay: in a first pass those that all their feeders
/// together cannot fill (ports, then trunks in the direction of traffic, each feeder counted at what it can carry), in
/// a second pass those of the rest that all links they drain into together cannot take. Two trunks that imply each
/// other are never both marked, and every unmarked trunk can be the bottleneck of some traffic.
/// @throws InternalError when the tree does not fit the fabric
void connect(Fabric& fabric, SwitchTree tree);

}  // namespace lamina::fabric
