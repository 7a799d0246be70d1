#pragma once

#include <cstdint>
#include <vector>

#include "sim/graph/operation_graph.hpp"

namespace lamina::graph {

/// [vertex] the vertex that stands for everything that can only happen together with it: both ends of a message, all
/// members of a collective across roles (the k-th of every program meet). Itself for everything else; otherwise the
/// first of them.
[[nodiscard]] std::vector<std::uint32_t> meetings(const OperationGraph& graph);

}  // namespace lamina::graph
