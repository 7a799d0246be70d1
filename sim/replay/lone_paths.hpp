#pragma once

#include <vector>

#include "sim/deployment/deployment.hpp"
#include "sim/graph/operation_graph.hpp"

namespace lamina::replay {

/// [path] 1: a flow over it never shares a link, because all flows over its links belong to one channel, group or host
/// copy direction whose operations stand in one in-order stream: the next starts after the last has ended. A tensor
/// group inside a node, for example. Its flows take a time that is known when they start, under any transport.
///
/// `moves` [path]: paths over which nothing moves (0) count for nothing. Links whose bandwidth changes are never alone.
/// Indices are those that make_plan has checked.
[[nodiscard]] std::vector<char> lone_paths(const graph::OperationGraph& graph, const deployment::Deployment& deployment,
                                           const std::vector<char>& moves);

}  // namespace lamina::replay
