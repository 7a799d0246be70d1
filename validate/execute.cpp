#include "validate/execute.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "sim/error/error.hpp"

namespace lamina::validate {
namespace {

/// [program][operation] what it waits for outside its own stream.
using Waits = std::vector<std::vector<std::vector<std::uint32_t>>>;

Waits waits_of(const graph::OperationGraph& graph) {
  Waits waits;
  for (const graph::Program& program : graph.programs) {
    auto& before = waits.emplace_back(program.operations.size());
    for (const auto& [first, then] : program.dependencies) {
      if (program.operations[first].stream != program.operations[then].stream) {
        before[then].push_back(first);
      }
    }
    for (auto& operations : before) {
      std::sort(operations.begin(), operations.end());
      operations.erase(std::unique(operations.begin(), operations.end()), operations.end());
    }
  }
  return waits;
}

/// [program] its ranks, ordered by data and tensor number; all programs have as many.
std::vector<std::vector<std::int32_t>> replicas_of(const graph::OperationGraph& graph,
                                                   const deployment::Deployment& deployment) {
  std::vector<std::vector<std::int32_t>> replicas(graph.programs.size());
  for (std::size_t rank = 0; rank < deployment.ranks.size(); ++rank) {
    replicas[static_cast<std::size_t>(deployment.ranks[rank].program)].push_back(static_cast<std::int32_t>(rank));
  }
  return replicas;
}

void check(const graph::OperationGraph& graph, const deployment::Deployment& deployment) {
  if (static_cast<double>(deployment.ranks.size()) != deployment.total_ranks) {
    throw error::InternalError(fmt::format("a folded deployment ({} of {} ranks) cannot be executed",
                                           deployment.ranks.size(), deployment.total_ranks));
  }
  for (const graph::Program& program : graph.programs) {
    for (const graph::Stream& stream : program.streams) {
      if (!stream.in_order) {
        throw error::InternalError(fmt::format("the stream \"{}\" has no order to execute", stream.name));
      }
    }
  }
}

}  // namespace

Execution execute(const graph::OperationGraph& graph, const deployment::Deployment& deployment, const IssueOrder& order,
                  Backend& backend) {
  check(graph, deployment);
  const Waits waits = waits_of(graph);
  const auto replicas = replicas_of(graph, deployment);
  std::vector<char> local(deployment.ranks.size(), 0);
  for (const std::int32_t rank : backend.local_ranks()) {
    local[static_cast<std::size_t>(rank)] = 1;
  }
  for (std::size_t block = 0; block + 1 < order.blocks.size(); ++block) {
    for (std::size_t replica = 0; replica < replicas.front().size(); ++replica) {
      for (std::uint32_t i = order.blocks[block]; i < order.blocks[block + 1]; ++i) {
        const auto program = static_cast<std::size_t>(graph.program_of(order.vertices[i]));
        const std::int32_t rank = replicas[program][replica];
        if (!local[static_cast<std::size_t>(rank)]) {
          continue;
        }
        const std::uint32_t operation = order.vertices[i] - graph.first_vertex[program];
        for (const std::uint32_t before : waits[program][operation]) {
          backend.wait(rank, operation, before);
        }
        backend.launch(rank, operation);
      }
    }
  }
  return backend.finish();
}

}  // namespace lamina::validate
