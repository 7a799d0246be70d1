#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <tl/expected.hpp>

#include "sim/deployment/deployment.hpp"
#include "sim/error/error.hpp"
#include "sim/graph/operation_graph.hpp"
#include "validate/cpu/ring.hpp"
#include "validate/cpu/transport.hpp"

namespace lamina::validate::cpu {

/// Which pipes the operations of a deployment need. The same on all ranks.
struct Plan {
  std::vector<Pipe> pipes;  ///< channels of the deployment first, under their own numbers
  /// (group, phase) -> pipe of its edge from member 0; edge i leads from member i to the next. Restores, reductions and
  /// the gradient norm of one group may run at once, so that each has a ring of its own.
  using Rings = std::map<std::pair<std::int32_t, graph::Phase>, std::size_t>;
  Rings rings;

  /// The ring that a pipe is an edge of; `rings.end()` for channels.
  [[nodiscard]] Rings::const_iterator ring_of(std::size_t pipe) const;

  [[nodiscard]] bool in_ring(std::size_t pipe) const { return ring_of(pipe) != rings.end(); }
};

/// A rank's place in a ring of `group`; nothing when it is no member.
[[nodiscard]] std::optional<RingMember> ring_member(Plan::Rings::const_iterator ring, const deployment::Group& group,
                                                    std::int32_t rank);

/// `deployment` is whole and in message form, whose messages say where a ring's edges lie.
/// @return Infeasible when collectives are no rings, or of a kind that none of the schedules uses
[[nodiscard]] tl::expected<Plan, error::Infeasible> plan_pipes(const graph::OperationGraph& graph,
                                                               const deployment::Deployment& deployment);

}  // namespace lamina::validate::cpu
