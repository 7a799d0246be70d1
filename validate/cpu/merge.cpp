#include "validate/cpu/merge.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "sim/error/error.hpp"
#include "validate/ranks/wire.hpp"

namespace lamina::validate::cpu {
namespace {

/// The n-th message of a channel, or the n-th collective of a group and phase.
using Meeting = std::tuple<bool, std::int32_t, graph::Phase, int>;

/// Calls `visit(meeting, rank, operation)` for every end of every message and collective.
template <class Visit>
void for_each_end(const graph::OperationGraph& graph, const deployment::Deployment& deployment, Visit visit) {
  for (std::size_t rank = 0; rank < deployment.ranks.size(); ++rank) {
    const deployment::Rank& here = deployment.ranks[rank];
    std::map<std::tuple<bool, std::int32_t, graph::Phase>, int> seen;
    const auto& operations = graph.programs[static_cast<std::size_t>(here.program)].operations;
    for (std::size_t i = 0; i < operations.size(); ++i) {
      const graph::Operation& operation = operations[i];
      const bool message =
          operation.kind == graph::OperationKind::kSend || operation.kind == graph::OperationKind::kReceive;
      if (!message && operation.kind != graph::OperationKind::kCollective) {
        continue;
      }
      const std::int32_t place =
          message ? here.channels[operation.channel] : here.groups[static_cast<std::size_t>(operation.group)];
      if (place == -1) {
        continue;
      }
      const std::tuple key(message, place, message ? graph::Phase::kPipeline : operation.phase);
      visit(std::tuple_cat(key, std::tuple(seen[key]++)), rank, i);
    }
  }
}

}  // namespace

std::string pack(const Execution& execution, std::int32_t rank) {
  ranks::Packer packer;
  packer.array(execution.timeline.spans[static_cast<std::size_t>(rank)]);
  packer.array(execution.processor_s[static_cast<std::size_t>(rank)]);
  packer.value(execution.involuntary_switches);
  return packer.take();
}

Execution merge(const std::vector<std::string>& records, const graph::OperationGraph& graph,
                const deployment::Deployment& deployment) {
  Execution result;
  for (std::size_t rank = 0; rank < records.size(); ++rank) {
    ranks::Unpacker unpacker(records[rank]);
    result.timeline.spans.push_back(unpacker.array<timeline::Span>());
    result.processor_s.push_back(unpacker.array<double>());
    result.involuntary_switches += unpacker.value<std::int64_t>();
    const auto program = static_cast<std::size_t>(deployment.ranks[rank].program);
    if (result.timeline.spans[rank].size() != graph.programs[program].operations.size()) {
      throw error::EnvironmentError("a rank ran another graph; do all ranks run the same scenario?");
    }
    for (const timeline::Span& span : result.timeline.spans[rank]) {
      result.timeline.end_s = std::max(result.timeline.end_s, span.end);
    }
    result.timeline.activities += static_cast<std::int64_t>(result.timeline.spans[rank].size());
  }
  std::map<Meeting, double> last_arrival;
  for_each_end(graph, deployment, [&](const Meeting& meeting, std::size_t rank, std::size_t operation) {
    double& date = last_arrival[meeting];
    date = std::max(date, result.timeline.spans[rank][operation].start);
  });
  for_each_end(graph, deployment, [&](const Meeting& meeting, std::size_t rank, std::size_t operation) {
    timeline::Span& span = result.timeline.spans[rank][operation];
    span.start = std::min(span.end, last_arrival.at(meeting));
  });
  return result;
}

}  // namespace lamina::validate::cpu
