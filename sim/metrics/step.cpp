#include "sim/metrics/step.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/error/error.hpp"

namespace lamina::metrics {

using graph::OperationKind;
using graph::Phase;
using graph::Traffic;

namespace {

constexpr double kRelativeSlack = 1e-12;

void check_shape(const graph::OperationGraph& graph, const deployment::Deployment& deployment,
                 const timeline::Timeline& timeline) {
  if (timeline.spans.size() != deployment.ranks.size()) {
    throw error::InternalError(fmt::format("timeline has spans of {} ranks, but the deployment has {} ranks",
                                           timeline.spans.size(), deployment.ranks.size()));
  }
  for (std::size_t rank = 0; rank < deployment.ranks.size(); ++rank) {
    const auto program = static_cast<std::size_t>(deployment.ranks[rank].program);
    if (program >= graph.programs.size()) {
      throw error::InternalError(
          fmt::format("rank {} runs program {}, but the graph has {} programs", rank, program, graph.programs.size()));
    }
    if (timeline.spans[rank].size() != graph.programs[program].operations.size()) {
      throw error::InternalError(fmt::format("timeline has {} spans of rank {}, but its program has {} operations",
                                             timeline.spans[rank].size(), rank,
                                             graph.programs[program].operations.size()));
    }
  }
}

/// Keeps the better of two runs that ended together: compute first, then the lowest number.
bool comes_first(const graph::Program& program, std::uint32_t candidate, std::uint32_t best) {
  const bool candidate_computes = program.operations[candidate].kind == OperationKind::kCompute;
  const bool best_computes = program.operations[best].kind == OperationKind::kCompute;
  return candidate_computes != best_computes ? candidate_computes : candidate < best;
}

std::string layer_name(const graph::Operation& operation, int layers) {
  if (operation.layer == -1) {
    return " of the embedding";
  }
  if (operation.layer >= layers) {
    return " of the head";
  }
  return operation.layer >= 0 ? fmt::format(" of layer {}", operation.layer) : "";
}

const char* phase_name(const graph::Operation& operation) {
  if (operation.phase == graph::Phase::kPipeline) {
    return operation.kind == OperationKind::kReceive ? "receive" : "send";
  }
  return graph::name_of(operation.phase);
}

}  // namespace

Step::Step(const graph::OperationGraph& graph, const deployment::Deployment& deployment,
           const timeline::Timeline& timeline)
    : graph_(&graph), deployment_(&deployment), timeline_(&timeline), slack_(kRelativeSlack * timeline.end_s) {
  check_shape(graph, deployment, timeline);
  const auto vertices = static_cast<std::uint32_t>(graph.size());
  offsets_.assign(graph.size() + 1, 0);
  for (std::uint32_t from = 0; from < vertices; ++from) {
    const auto [begin, end] = boost::adjacent_vertices(from, graph.edges);
    for (auto to = begin; to != end; ++to) {
      ++offsets_[*to + 1];
    }
  }
  for (std::size_t vertex = 0; vertex < graph.size(); ++vertex) {
    offsets_[vertex + 1] += offsets_[vertex];
  }
  sources_.resize(offsets_.back());
  std::vector<std::uint32_t> next(offsets_.begin(), offsets_.end() - 1);
  for (std::uint32_t from = 0; from < vertices; ++from) {
    const auto [begin, end] = boost::adjacent_vertices(from, graph.edges);
    for (auto to = begin; to != end; ++to) {
      sources_[next[*to]++] = from;
    }
  }
  last_end_.assign(ranks(), 0.0);
  for (std::size_t rank = 0; rank < ranks(); ++rank) {
    for (const timeline::Span& each : timeline.spans[rank]) {
      last_end_[rank] = std::max(last_end_[rank], each.end);
    }
    if (last_end_[rank] > timeline.end_s + slack_) {
      throw error::InternalError(
          fmt::format("rank {} works until {} s, but the step ends at {} s", rank, last_end_[rank], timeline.end_s));
    }
  }
}

std::span<const std::uint32_t> Step::predecessors(Run run) const {
  const std::uint32_t vertex = graph_->vertex(deployment_->ranks[run.rank].program, run.operation);
  return {sources_.data() + offsets_[vertex], offsets_[vertex + 1] - offsets_[vertex]};
}

std::optional<Run> Step::latest_predecessor(Run run) const {
  const auto sources = predecessors(run);
  if (sources.empty()) {
    return std::nullopt;
  }
  const std::uint32_t first = graph_->vertex(deployment_->ranks[run.rank].program, 0);
  const std::vector<timeline::Span>& spans = timeline_->spans[run.rank];
  double latest = spans[sources.front() - first].end;
  for (const std::uint32_t source : sources) {
    latest = std::max(latest, spans[source - first].end);
  }
  std::optional<std::uint32_t> best;
  for (const std::uint32_t source : sources) {
    const std::uint32_t candidate = source - first;
    if (spans[candidate].end >= latest - slack_ && (!best || comes_first(program(run.rank), candidate, *best))) {
      best = candidate;
    }
  }
  return Run{run.rank, *best};
}

std::optional<Run> Step::last_operation(std::size_t rank) const {
  const std::vector<timeline::Span>& spans = timeline_->spans[rank];
  std::optional<std::uint32_t> best;
  for (std::uint32_t candidate = 0; candidate < spans.size(); ++candidate) {
    if (spans[candidate].end >= last_end_[rank] - slack_ && (!best || comes_first(program(rank), candidate, *best))) {
      best = candidate;
    }
  }
  return best ? std::optional<Run>(Run{rank, *best}) : std::nullopt;
}

bool has_peer(const graph::Operation& operation) {
  return operation.kind == OperationKind::kSend || operation.kind == OperationKind::kReceive ||
         operation.kind == OperationKind::kCollective;
}

Traffic traffic_of(const graph::Operation& operation) {
  if (operation.traffic != Traffic::kNone) {
    return operation.traffic;
  }
  switch (operation.phase) {
    case Phase::kPipeline:
      return Traffic::kPipeline;
    case Phase::kTensor:
      return Traffic::kTensor;
    case Phase::kRestore:
      return Traffic::kRestore;
    case Phase::kReduce:
      return Traffic::kReduce;
    default:
      break;
  }
  switch (operation.kind) {
    case OperationKind::kSend:
    case OperationKind::kReceive:
      return Traffic::kPipeline;
    case OperationKind::kCollective:
      return Traffic::kReduce;
    case OperationKind::kHostCopy:
    case OperationKind::kCompute:  // on the host, beside the compute stream
      return Traffic::kOffload;
  }
  return Traffic::kOffload;
}

std::string short_name(const graph::Operation& operation, int layers) {
  std::string result = phase_name(operation) + layer_name(operation, layers);
  if (operation.micro_batch >= 0) {
    result += fmt::format(", micro-batch {}", operation.micro_batch);
  }
  return result;
}

}  // namespace lamina::metrics
