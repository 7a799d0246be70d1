#pragma once

#include <string>
#include <vector>

#include "sim/deployment/deployment.hpp"
#include "sim/graph/operation_graph.hpp"
#include "validate/backend.hpp"

namespace lamina::validate::cpu {

/// One rank's record of one step, to and from text.
[[nodiscard]] std::string pack(const Execution& execution, std::int32_t rank);

/// The whole from what every rank ([rank]) recorded. A message or collective starts when the last of its ends has come.
/// @throws EnvironmentError when a record is not of this graph
[[nodiscard]] Execution merge(const std::vector<std::string>& records, const graph::OperationGraph& graph,
                              const deployment::Deployment& deployment);

}  // namespace lamina::validate::cpu
