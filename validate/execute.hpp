#pragma once

#include "sim/deployment/deployment.hpp"
#include "sim/graph/operation_graph.hpp"
#include "validate/backend.hpp"
#include "validate/issue_order.hpp"

namespace lamina::validate {

/// Executes every operation of the local ranks once. A dependency within one stream needs no event: the queue is in
/// order; the others are waits.
/// @throws InternalError when the deployment is folded (a real device stands for itself only) or a stream has no order
[[nodiscard]] Execution execute(const graph::OperationGraph& graph, const deployment::Deployment& deployment,
                                const IssueOrder& order, Backend& backend);

}  // namespace lamina::validate
