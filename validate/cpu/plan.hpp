#pragma once

#include <map>
#include <utility>
#include <vector>

#include <tl/expected.hpp>

#include "sim/deployment/deployment.hpp"
#include "sim/error/error.hpp"
#include "sim/graph/operation_graph.hpp"
#include "validate/cpu/transport.hpp"

namespace lamina::validate::cpu {

/// Which pipes the operations of a deployment need. The same on all ranks.
struct Plan {
  std::vector<Pipe> pipes;  ///< channels of the deployment first, under their own numbers
  /// (group, phase) -> pipe of its edge from member 0; edge i leads from member i to the next. Restores, reductions and
  /// the gradient norm of one group may run at once, so that each has a ring of its own.
  std::map<std::pair<std::int32_t, graph::Phase>, std::size_t> rings;
};

/// `deployment` is whole and in message form, whose messages say where a ring's edges lie.
/// @return Infeasible when collectives are no rings, or of a kind that none of the schedules uses
[[nodiscard]] tl::expected<Plan, error::Infeasible> plan_pipes(const graph::OperationGraph& graph,
                                                               const deployment::Deployment& deployment);

}  // namespace lamina::validate::cpu
