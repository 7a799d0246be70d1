#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/deployment/deployment.hpp"
#include "sim/graph/operation_graph.hpp"
#include "sim/metrics/step.hpp"
#include "sim/timeline/timeline.hpp"

namespace lamina::metrics::testing {

/// A step written down operation by operation in an order in which it can run; one rank per program. Every operation
/// starts when its stream, its dependencies and its peers are ready, and lasts as long as it is told: no network.
class TinyStep {
 public:
  /// Number of an operation within its program.
  using Id = std::uint32_t;

  explicit TinyStep(int ranks) : programs_(static_cast<std::size_t>(ranks)), spans_(programs_.size()) {
    using graph::StreamKind;
    for (graph::Program& program : programs_) {
      for (const StreamKind kind :
           {StreamKind::kCompute, StreamKind::kPipeline, StreamKind::kPipelineSend, StreamKind::kPipelineReceive,
            StreamKind::kData, StreamKind::kTensor, StreamKind::kHostIn, StreamKind::kHostOut}) {
        program.streams.push_back({kind, "stream"});  // numbered like StreamKind
      }
      program.channels.resize(2 * programs_.size());
    }
    for (std::size_t a = 0; a < programs_.size(); ++a) {  // channel b sends to b, channel n + b receives from b
      for (std::size_t b = 0; b < programs_.size(); ++b) {
        programs_[a].channels[b] = {static_cast<int>(b), static_cast<int>(programs_.size() + a), true, false};
        programs_[a].channels[programs_.size() + b] = {static_cast<int>(b), static_cast<int>(a), false, false};
      }
    }
  }

  Id compute(int rank, double duration, std::vector<Id> after = {}, graph::Phase phase = graph::Phase::kForward) {
    graph::Operation operation;
    operation.phase = phase;
    operation.duration_s = duration;
    const Id id = append(rank, operation, graph::StreamKind::kCompute, after);
    run(ready(rank, id), duration, {{rank, id}});
    return id;
  }

  /// Sends from `from` to `to`; returns the send and the receive.
  std::pair<Id, Id> message(int from, int to, double duration, std::vector<Id> send_after = {},
                            std::vector<Id> receive_after = {},
                            graph::StreamKind send_stream = graph::StreamKind::kPipelineSend,
                            graph::StreamKind receive_stream = graph::StreamKind::kPipelineReceive) {
    graph::Operation operation;
    operation.kind = graph::OperationKind::kSend;
    operation.phase = graph::Phase::kPipeline;
    operation.traffic = graph::Traffic::kPipeline;
    operation.channel = static_cast<std::uint16_t>(to);
    const Id send = append(from, operation, send_stream, send_after);
    operation.kind = graph::OperationKind::kReceive;
    operation.channel = static_cast<std::uint16_t>(programs_.size() + static_cast<std::size_t>(from));
    const Id receive = append(to, operation, receive_stream, receive_after);
    run(std::max(ready(from, send), ready(to, receive)), duration, {{from, send}, {to, receive}});
    return {send, receive};
  }

  /// One collective of all ranks; `after[rank]` are its dependencies there. Returns its number on each rank.
  std::vector<Id> collective_of_all(double duration, graph::Traffic traffic, std::vector<std::vector<Id>> after = {}) {
    after.resize(programs_.size());
    graph::Operation operation;
    operation.kind = graph::OperationKind::kCollective;
    operation.phase = graph::Phase::kUpdate;
    operation.traffic = traffic;
    operation.group = graph::GroupKind::kPipeline;
    std::vector<Id> ids;
    std::vector<std::pair<int, Id>> members;
    double start = 0;
    for (int rank = 0; rank < static_cast<int>(programs_.size()); ++rank) {
      ids.push_back(append(rank, operation, graph::StreamKind::kData, after[static_cast<std::size_t>(rank)]));
      members.emplace_back(rank, ids.back());
      start = std::max(start, ready(rank, ids.back()));
    }
    run(start, duration, members);
    return ids;
  }

  /// Any operation that waits for nobody else (a collective whose group is this rank alone, a host copy, ...).
  Id alone(int rank, const graph::Operation& operation, graph::StreamKind stream, double duration,
           std::vector<Id> after = {}) {
    const Id id = append(rank, operation, stream, after);
    run(ready(rank, id), duration, {{rank, id}});
    return id;
  }

  /// A collective of one of the rank's own groups, all members of which arrive together.
  Id collective(int rank, graph::Traffic traffic, double duration, std::vector<Id> after = {},
                graph::StreamKind stream = graph::StreamKind::kData) {
    graph::Operation operation;
    operation.kind = graph::OperationKind::kCollective;
    operation.traffic = traffic;
    operation.group = graph::GroupKind::kData;
    return alone(rank, operation, stream, duration, after);
  }

  [[nodiscard]] graph::Program& program(int rank) { return programs_[static_cast<std::size_t>(rank)]; }

  [[nodiscard]] timeline::Span span(int rank, Id id) const { return spans_[static_cast<std::size_t>(rank)][id]; }

  [[nodiscard]] double end() const {
    double end = 0;
    for (const auto& spans : spans_) {
      for (const timeline::Span& span : spans) {
        end = std::max(end, span.end);
      }
    }
    return end;
  }

  /// Freezes what was written; `graph`, `deployment` and `timeline` are for Step from here on.
  const TinyStep& finish() {
    graph = graph::freeze(programs_);
    timeline.spans = spans_;
    timeline.end_s = end();
    deployment::Group everyone;
    for (std::size_t rank = 0; rank < programs_.size(); ++rank) {
      deployment::Rank entry;
      entry.program = static_cast<std::int32_t>(rank);
      entry.groups[static_cast<std::size_t>(graph::GroupKind::kPipeline)] = 0;
      everyone.members.push_back(static_cast<std::int32_t>(rank));
      for (std::size_t channel = 0; channel < programs_[rank].channels.size(); ++channel) {
        const auto peer = static_cast<std::int32_t>(channel % programs_.size());
        const auto self = static_cast<std::int32_t>(rank);
        const bool sends = channel < programs_.size();
        entry.channels.push_back(static_cast<std::int32_t>(deployment.channels.size()));
        deployment.channels.push_back({sends ? self : peer, sends ? peer : self, -1});
      }
      deployment.ranks.push_back(entry);
    }
    everyone.size = static_cast<int>(programs_.size());
    deployment.groups.push_back(everyone);
    deployment.total_ranks = static_cast<double>(programs_.size());
    return *this;
  }

  [[nodiscard]] Step step() const { return {graph, deployment, timeline}; }

  graph::OperationGraph graph;
  deployment::Deployment deployment;
  timeline::Timeline timeline;

 private:
  Id append(int rank, graph::Operation operation, graph::StreamKind stream, const std::vector<Id>& after) {
    graph::Program& owner = program(rank);
    const auto id = static_cast<Id>(owner.operations.size());
    operation.stream = static_cast<std::uint16_t>(stream);
    owner.operations.push_back(operation);
    for (const Id before : after) {
      owner.dependencies.emplace_back(before, id);
    }
    spans_[static_cast<std::size_t>(rank)].emplace_back();
    return id;
  }

  [[nodiscard]] double ready(int rank, Id id) const {
    const auto& spans = spans_[static_cast<std::size_t>(rank)];
    const graph::Program& owner = programs_[static_cast<std::size_t>(rank)];
    double time = 0;
    for (Id other = 0; other < id; ++other) {
      if (owner.operations[other].stream == owner.operations[id].stream) {
        time = std::max(time, spans[other].end);
      }
    }
    for (const auto& [before, after] : owner.dependencies) {
      if (after == id) {
        time = std::max(time, spans[before].end);
      }
    }
    return time;
  }

  void run(double start, double duration, const std::vector<std::pair<int, Id>>& members) {
    for (const auto& [rank, id] : members) {
      spans_[static_cast<std::size_t>(rank)][id] = {start, start + duration};
    }
  }

  std::vector<graph::Program> programs_;
  std::vector<std::vector<timeline::Span>> spans_;
};

/// GPipe without network: `ranks` stages, all forwards and then all backwards of `micro_batches`.
inline TinyStep gpipe(int ranks, int micro_batches, double forward, double backward, double message = 0) {
  TinyStep tiny(ranks);
  std::vector<std::vector<TinyStep::Id>> arrived(static_cast<std::size_t>(ranks));
  for (const bool forwards : {true, false}) {
    for (int micro_batch = 0; micro_batch < micro_batches; ++micro_batch) {
      std::vector<TinyStep::Id> input;
      for (int step = 0; step < ranks; ++step) {
        const int rank = forwards ? step : ranks - 1 - step;
        const TinyStep::Id done = tiny.compute(rank, forwards ? forward : backward, input,
                                               forwards ? graph::Phase::kForward : graph::Phase::kBackward);
        tiny.program(rank).operations[done].micro_batch = micro_batch;
        tiny.program(rank).operations[done].stage = rank;
        tiny.program(rank).operations[done].layer = rank;
        if (step + 1 < ranks) {
          const auto [send, receive] = tiny.message(rank, forwards ? rank + 1 : rank - 1, message, {done});
          input = {receive};
        }
      }
    }
  }
  return tiny;
}

}  // namespace lamina::metrics::testing
