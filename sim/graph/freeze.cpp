#include <algorithm>
#include <iterator>
#include <numeric>

#include <fmt/format.h>

#include "sim/error/error.hpp"
#include "sim/graph/operation_graph.hpp"

namespace lamina::graph {
namespace {

using Edge = std::pair<std::uint32_t, std::uint32_t>;

constexpr std::uint32_t kNone = OperationGraph::kNoPartner;

/// [operation] the one behind it in its stream; kNone: the last, or the stream is not in order.
std::vector<std::uint32_t> next_in_stream(const Program& program) {
  std::vector<std::uint32_t> next(program.operations.size(), kNone);
  std::vector<std::uint32_t> last(program.streams.size(), kNone);
  for (std::uint32_t i = 0; i < program.operations.size(); ++i) {
    const std::uint16_t stream = program.operations[i].stream;
    if (!program.streams[stream].in_order) {
      continue;
    }
    if (last[stream] != kNone) {
      next[last[stream]] = i;
    }
    last[stream] = i;
  }
  return next;
}

/// Stream order and dependencies of one program as global edges, sorted by source, each once.
void append_edges(const Program& program, std::uint32_t first, std::vector<Edge>& edges) {
  const std::size_t count = program.operations.size();
  std::vector<std::uint32_t> begin(count + 1, 0);  // of the dependencies of each operation, sorted by counting
  for (const auto& [before, after] : program.dependencies) {
    if (before == after || before >= count || after >= count) {
      throw error::InternalError(fmt::format("dependency {} -> {} is not one", before, after));
    }
    ++begin[before + 1];
  }
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  std::vector<std::uint32_t> after_of(program.dependencies.size());
  std::vector<std::uint32_t> position(begin.begin(), begin.end() - 1);
  for (const auto& [before, after] : program.dependencies) {
    after_of[position[before]++] = after;
  }
  const std::vector<std::uint32_t> next = next_in_stream(program);
  std::vector<std::uint32_t> targets;
  for (std::uint32_t i = 0; i < count; ++i) {
    targets.assign(after_of.begin() + begin[i], after_of.begin() + begin[i + 1]);
    if (next[i] != kNone) {
      targets.push_back(next[i]);
    }
    std::sort(targets.begin(), targets.end());
    targets.erase(std::unique(targets.begin(), targets.end()), targets.end());
    for (const std::uint32_t after : targets) {
      edges.emplace_back(first + i, first + after);
    }
  }
}

/// Operations of each channel, in stream order.
std::vector<std::vector<std::uint32_t>> operations_by_channel(const Program& program) {
  std::vector<std::vector<std::uint32_t>> result(program.channels.size());
  for (std::uint32_t i = 0; i < program.operations.size(); ++i) {
    const Operation& operation = program.operations[i];
    if (operation.kind == OperationKind::kSend || operation.kind == OperationKind::kReceive) {
      result.at(operation.channel).push_back(i);
    }
  }
  return result;
}

void pair_channel(OperationGraph& graph, int sender, const Channel& channel, std::size_t channel_index,
                  const std::vector<std::vector<std::vector<std::uint32_t>>>& by_channel) {
  const auto& sends = by_channel[static_cast<std::size_t>(sender)][channel_index];
  const auto& receives =
      by_channel.at(static_cast<std::size_t>(channel.peer)).at(static_cast<std::size_t>(channel.peer_channel));
  if (sends.size() != receives.size()) {
    throw error::InternalError(fmt::format("rank {} sends {} messages to rank {}, which receives {}", sender,
                                           sends.size(), channel.peer, receives.size()));
  }
  for (std::size_t k = 0; k < sends.size(); ++k) {
    const std::uint32_t from = graph.vertex(sender, sends[k]);
    const std::uint32_t to = graph.vertex(channel.peer, receives[k]);
    const Operation& send = graph.operation(from);
    const Operation& receive = graph.operation(to);
    if (send.micro_batch != receive.micro_batch || send.bytes != receive.bytes) {
      throw error::InternalError(fmt::format("message {} of a channel does not match: {} / {}", k,
                                             describe(graph, from), describe(graph, to)));
    }
    graph.partner[from] = to;
    graph.partner[to] = from;
  }
}

}  // namespace

int OperationGraph::program_of(std::uint32_t vertex) const {
  const auto found = std::upper_bound(first_vertex.begin(), first_vertex.end(), vertex);
  return static_cast<int>(std::distance(first_vertex.begin(), found)) - 1;
}

const Operation& OperationGraph::operation(std::uint32_t vertex) const {
  const auto program = static_cast<std::size_t>(program_of(vertex));
  return programs[program].operations[vertex - first_vertex[program]];
}

OperationGraph freeze(std::vector<Program> programs) {
  OperationGraph graph;
  graph.programs = std::move(programs);
  std::uint32_t total = 0;
  std::vector<Edge> edges;
  edges.reserve(std::accumulate(graph.programs.begin(), graph.programs.end(), std::size_t{0},
                                [](std::size_t sum, const Program& program) {
                                  return sum + program.operations.size() + program.dependencies.size();
                                }));
  std::vector<std::vector<std::vector<std::uint32_t>>> by_channel;
  for (const Program& program : graph.programs) {
    graph.first_vertex.push_back(total);
    append_edges(program, total, edges);
    by_channel.push_back(operations_by_channel(program));
    total += static_cast<std::uint32_t>(program.operations.size());
  }
  graph.first_vertex.push_back(total);
  graph.edges = DependencyGraph(boost::edges_are_sorted, edges.begin(), edges.end(), total);
  graph.partner.assign(total, kNone);
  for (std::size_t i = 0; i < graph.programs.size(); ++i) {
    const auto& channels = graph.programs[i].channels;
    for (std::size_t c = 0; c < channels.size(); ++c) {
      if (channels[c].sends) {
        pair_channel(graph, static_cast<int>(i), channels[c], c, by_channel);
      }
    }
  }
  return graph;
}

}  // namespace lamina::graph
