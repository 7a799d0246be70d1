#pragma once

#include <cstdint>
#include <vector>

#include "sim/deployment/deployment.hpp"
#include "sim/graph/operation_graph.hpp"

namespace lamina::replay {

/// What the replay needs to know before it starts. Making it checks everything that could otherwise go wrong inside the
/// simulator, whose own checks end the process.
struct Plan {
  std::vector<std::uint32_t> predecessors;       ///< [vertex] edges that lead to it
  std::vector<std::uint32_t> collective_number;  ///< [vertex] k: the k-th collective of its group kind in its program
  std::vector<char> path_moves;                  ///< [path] 1: some flow moves bytes over it
  std::vector<char> path_is_lone;                ///< [path] 1: its flows never share a link, see lone_paths.hpp
  double largest_flow = 0;                       ///< bytes
  std::size_t flows = 0;                         ///< flows that move bytes
  std::size_t operations = 0;                    ///< over all deployment ranks
};

/// @throws InternalError naming the first inconsistency: an index out of range, a number that is negative, infinite or
/// not a number, bytes over a path without a limiting link, members of a group that disagree on its collectives
[[nodiscard]] Plan make_plan(const graph::OperationGraph& graph, const deployment::Deployment& deployment);

}  // namespace lamina::replay
