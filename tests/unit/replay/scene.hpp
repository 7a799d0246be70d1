#pragma once

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "sim/deployment/deployment.hpp"
#include "sim/graph/operation_graph.hpp"
#include "sim/replay/replay.hpp"

namespace lamina::replay::testing {

/// Builds tiny graphs and deployments by hand: one program per rank.
class Scene {
 public:
  int rank(double slowness = 1) {
    programs.emplace_back();
    deployment::Rank added;
    added.program = static_cast<int>(programs.size()) - 1;
    added.device = added.program;
    added.slowness = slowness;
    deployment.ranks.push_back(added);
    deployment.total_ranks += 1;
    return added.program;
  }

  int link(double bandwidth, bool never_limits = false) {
    deployment::Link added;
    added.bandwidth = bandwidth;
    added.never_limits = never_limits;
    deployment.links.push_back(added);
    return static_cast<int>(deployment.links.size()) - 1;
  }

  /// A link that is repeated is crossed as often.
  int path(const std::vector<int>& links, double latency = 0) {
    std::map<int, int> counts;
    for (const int one : links) {
      ++counts[one];
    }
    deployment::Path added;
    added.latency_s = latency;
    for (const auto& [one, count] : counts) {
      added.links.push_back({.link = one, .count = count});
      if (const deployment::Link& crossed = deployment.links[index(one)]; !crossed.never_limits) {
        added.alone_s_per_byte = std::max(added.alone_s_per_byte, count / crossed.bandwidth);
      }
    }
    deployment.paths.push_back(added);
    return static_cast<int>(deployment.paths.size()) - 1;
  }

  int stream(int rank, graph::StreamKind kind = graph::StreamKind::kCompute) {
    auto& streams = programs[index(rank)].streams;
    streams.push_back({.kind = kind, .name = "stream " + std::to_string(streams.size())});
    return static_cast<int>(streams.size()) - 1;
  }

  std::uint32_t add(int rank, int stream, graph::Operation operation) {
    operation.stream = static_cast<std::uint16_t>(stream);
    programs[index(rank)].operations.push_back(operation);
    return static_cast<std::uint32_t>(programs[index(rank)].operations.size() - 1);
  }

  std::uint32_t compute(int rank, int stream, double seconds) {
    graph::Operation operation;
    operation.duration_s = seconds;
    return add(rank, stream, operation);
  }

  std::uint32_t copy(int rank, int stream, double bytes, bool to_host = true) {
    graph::Operation operation;
    operation.kind = graph::OperationKind::kHostCopy;
    operation.to_host = to_host;
    operation.bytes = bytes;
    return add(rank, stream, operation);
  }

  std::uint32_t collective(int rank, int stream, graph::CollectiveKind kind, double bytes,
                           graph::GroupKind group = graph::GroupKind::kData) {
    graph::Operation operation;
    operation.kind = graph::OperationKind::kCollective;
    operation.collective = kind;
    operation.group = group;
    operation.bytes = bytes;
    return add(rank, stream, operation);
  }

  /// A channel from one rank to another; its index in the sender's and the receiver's program.
  std::pair<int, int> channel(int from, int to, int path) {
    auto& sending = programs[index(from)].channels;
    sending.push_back({.peer = to, .sends = true});
    const int sender = static_cast<int>(sending.size()) - 1;
    auto& receiving = programs[index(to)].channels;
    receiving.push_back({.peer = from, .peer_channel = sender, .sends = false});
    const int receiver = static_cast<int>(receiving.size()) - 1;
    programs[index(from)].channels[index(sender)].peer_channel = receiver;
    deployment.channels.push_back({.sender = from, .receiver = to, .path = path});
    const auto number = static_cast<std::int32_t>(deployment.channels.size()) - 1;
    deployment.ranks[index(from)].channels.push_back(number);
    deployment.ranks[index(to)].channels.push_back(number);
    return {sender, receiver};
  }

  std::uint32_t message(int rank, int stream, int channel, double bytes, int micro_batch = -1) {
    graph::Operation operation;
    const bool sends = programs[index(rank)].channels[index(channel)].sends;
    operation.kind = sends ? graph::OperationKind::kSend : graph::OperationKind::kReceive;
    operation.channel = static_cast<std::uint16_t>(channel);
    operation.bytes = bytes;
    operation.micro_batch = micro_batch;
    return add(rank, stream, operation);
  }

  void depend(int rank, std::uint32_t before, std::uint32_t after) {
    programs[index(rank)].dependencies.emplace_back(before, after);
  }

  deployment::Group& group(graph::GroupKind kind, const std::vector<int>& members, int size) {
    deployment::Group added;
    added.size = size;
    for (const int member : members) {
      added.members.push_back(member);
      deployment.ranks[index(member)].groups[static_cast<std::size_t>(kind)] =
          static_cast<std::int32_t>(deployment.groups.size());
    }
    deployment.groups.push_back(added);
    return deployment.groups.back();
  }

  [[nodiscard]] graph::OperationGraph frozen() const { return graph::freeze(programs); }

  [[nodiscard]] timeline::Timeline run(const Options& options = {}) const {
    return replay(frozen(), deployment, options);
  }

  static std::size_t index(int number) { return static_cast<std::size_t>(number); }

  std::vector<graph::Program> programs;
  deployment::Deployment deployment;
};

}  // namespace lamina::replay::testing
