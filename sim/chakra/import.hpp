#pragma once

#include <cstdint>
#include <vector>

#include "sim/chakra/match.hpp"
#include "sim/chakra/trace.hpp"
#include "sim/collectives/collective.hpp"
#include "sim/deployment/deployment.hpp"
#include "sim/fabric/fabric.hpp"
#include "sim/graph/operation_graph.hpp"
#include "sim/scenario/scenario.hpp"

namespace lamina::chakra {

/// A trace as operations. Ranks that do the same, with peers that do the same, share a program: a program's channel
/// names the program and channel at the other end. Compute stands on an in-order stream, everything else on streams
/// without order.
struct Imported {
  graph::OperationGraph graph;
  std::vector<std::int32_t> program_of_rank;
  std::vector<std::int32_t> example_of_program;               ///< the first rank of each
  std::vector<std::vector<std::uint32_t>> node_of_operation;  ///< [program][operation] into the example's nodes
  std::vector<std::vector<std::int32_t>> peers;  ///< [rank][channel of its program] the rank at the other end
  std::vector<std::int32_t> slot_of_group;       ///< Operation::group of a group's collectives
};

/// @throws ScenarioError: a rank in more groups, or with more peers, than the graph can number
[[nodiscard]] Imported import_trace(const Trace& trace, const Matching& matching);

/// Rank r on device r of `fabric`.
/// @throws ScenarioError when there are more ranks than devices, or a rank copies to a host it has no path to
[[nodiscard]] deployment::Deployment deploy_trace(const Trace& trace, const Imported& imported,
                                                  const fabric::Fabric& fabric,
                                                  const collectives::Collective& algorithm,
                                                  scenario::CollectiveForm form);

}  // namespace lamina::chakra
