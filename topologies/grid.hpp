#pragma once

#include <array>
#include <cstdint>

#include "sim/fabric/fabric.hpp"

namespace lamina::topologies {

/// Routers in x, y and z; 1: no such dimension.
using GridSize = std::array<std::int32_t, 3>;

/// One router per node, joined to the next and the previous router of every dimension, the last to the first: a torus.
/// Node n stands at x = n mod size[0], then y, then z. A dimension of two routers has one cable, not two.
///
/// Adds the links behind the ports of `fabric` (which has product-of-`size` nodes with ports), each with `bandwidth`,
/// and sets network_route and trunk_name. Routes are dimension-ordered (x, y, z) and take the shorter way around,
/// upwards if both are as long.
void connect_grid(fabric::Fabric& fabric, const GridSize& size, BytesPerSecond bandwidth);

/// Bandwidth of all ports of a node together; the fabric must have ports.
[[nodiscard]] BytesPerSecond node_bandwidth(const fabric::Fabric& fabric);

}  // namespace lamina::topologies
