#pragma once

#include <cstdint>
#include <vector>

#include "sim/graph/operation_graph.hpp"

namespace lamina::validate {

/// One order of all operations of a graph in which every dependency and every stream points forward, and what can only
/// happen together stands together. Each rank that hands its operations to its queues in this order is free of
/// deadlocks for any mapping of streams to queues, even one queue for all of them: what a queue waits for has been
/// handed over before, on this rank or on another one. It is also the "consistent total global order" that NCCL asks
/// of several communicators on one device.
struct IssueOrder {
  std::vector<std::uint32_t> vertices;  ///< of the graph
  std::vector<std::uint32_t> blocks;    ///< [block] its first index in `vertices`, and the total at the end
};

/// Of all such orders the one that follows `due` ([vertex], seconds: when an operation could start at best) as far as
/// it can; equal dates by vertex. Near-linear in operations and dependencies.
/// @throws InternalError when the in-order streams wait for each other in a circle, with the circle
[[nodiscard]] IssueOrder issue_order(const graph::OperationGraph& graph, const std::vector<double>& due);

/// The same for operations of which nothing is known but their order.
[[nodiscard]] IssueOrder issue_order(const graph::OperationGraph& graph);

/// Whether ranks that hand over their part of `order` one operation after the other can block when each rank has one
/// queue for all its operations and messages are rendezvous; "" if not, else what waits for what. The lint of every
/// execution: cheap, and stricter than any real mapping.
[[nodiscard]] std::string find_blocked(const graph::OperationGraph& graph, const IssueOrder& order);

}  // namespace lamina::validate
