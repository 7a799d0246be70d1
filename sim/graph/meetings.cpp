#include "sim/graph/meetings.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace lamina::graph {

std::vector<std::uint32_t> meetings(const OperationGraph& graph) {
  std::vector<std::uint32_t> leader(graph.size());
  std::map<std::pair<GroupKind, std::uint32_t>, std::uint32_t> first_of_collective;
  for (std::size_t p = 0; p < graph.programs.size(); ++p) {
    std::map<GroupKind, std::uint32_t> position;
    for (std::uint32_t i = 0; i < graph.programs[p].operations.size(); ++i) {
      const Operation& operation = graph.programs[p].operations[i];
      const std::uint32_t vertex = graph.vertex(static_cast<int>(p), i);
      leader[vertex] =
          graph.partner[vertex] == OperationGraph::kNoPartner ? vertex : std::min(vertex, graph.partner[vertex]);
      const bool crosses_roles = operation.group == GroupKind::kPipeline || operation.group == GroupKind::kEmbedding;
      if (operation.kind == OperationKind::kCollective && crosses_roles) {
        const std::uint32_t k = position[operation.group]++;
        leader[vertex] = first_of_collective.try_emplace({operation.group, k}, vertex).first->second;
      }
    }
  }
  return leader;
}

}  // namespace lamina::graph
