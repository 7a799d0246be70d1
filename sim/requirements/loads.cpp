#include "sim/requirements/loads.hpp"

#include <cstddef>
#include <cstdint>

namespace lamina::requirements {
namespace {

class Counter {
 public:
  Counter(const graph::OperationGraph& graph, const deployment::Deployment& deployment)
      : graph_(graph), deployment_(deployment), result_(deployment.paths.size()) {}

  std::vector<PathTraffic> count() {
    for (std::size_t rank = 0; rank < deployment_.ranks.size(); ++rank) {
      const auto program = static_cast<std::size_t>(deployment_.ranks[rank].program);
      for (const graph::Operation& operation : graph_.programs[program].operations) {
        add(rank, operation);
      }
    }
    return std::move(result_);
  }

 private:
  void add(std::size_t index, const graph::Operation& operation) {
    const deployment::Rank& rank = deployment_.ranks[index];
    switch (operation.kind) {
      case graph::OperationKind::kSend: {
        const auto channel = static_cast<std::size_t>(rank.channels[operation.channel]);
        move(deployment_.channels[channel].path, operation, operation.bytes);
        break;
      }
      case graph::OperationKind::kHostCopy:
        move(operation.to_host ? rank.to_host : rank.from_host, operation, operation.bytes);
        break;
      case graph::OperationKind::kCollective:
        add_collective(index, operation);
        break;
      case graph::OperationKind::kCompute:
      case graph::OperationKind::kReceive:
        break;
    }
  }

  void add_collective(std::size_t index, const graph::Operation& operation) {
    const std::int32_t number = deployment_.ranks[index].groups[static_cast<std::size_t>(operation.group)];
    if (number < 0) {
      return;
    }
    const deployment::Group& group = deployment_.groups[static_cast<std::size_t>(number)];
    if (group.members.front() != static_cast<std::int32_t>(index)) {
      return;  // counted once
    }
    const auto kind = static_cast<std::size_t>(operation.collective);
    for (const deployment::FlowStep& step : group.chain(operation.collective, operation.bytes)) {
      move(step.path, operation, operation.bytes * step.bytes_per_payload);
    }
    for (const deployment::GroupMessage& message : group.messages[kind]) {
      move(message.path, operation, operation.bytes * message.bytes_per_payload);
    }
  }

  void move(std::int32_t path, const graph::Operation& operation, double bytes) {
    PathTraffic& traffic = result_[static_cast<std::size_t>(path)];
    traffic.bytes[static_cast<std::size_t>(operation.traffic)] += bytes;
    traffic.used[static_cast<std::size_t>(operation.traffic)] = true;
  }

  const graph::OperationGraph& graph_;
  const deployment::Deployment& deployment_;
  std::vector<PathTraffic> result_;
};

}  // namespace

std::vector<PathTraffic> traffic_of_paths(const graph::OperationGraph& graph,
                                          const deployment::Deployment& deployment) {
  return Counter(graph, deployment).count();
}

Busiest busiest_link(const deployment::Deployment& deployment, const std::vector<PathTraffic>& traffic,
                     fabric::LinkClass link_class, const graph::Traffic* only) {
  Busiest result;
  std::vector<double> bytes(deployment.links.size(), 0);
  for (std::size_t path = 0; path < traffic.size(); ++path) {
    double moved = 0;
    bool used = false;
    for (std::size_t t = 0; t < graph::kTrafficClasses; ++t) {
      if (only == nullptr || static_cast<std::size_t>(*only) == t) {
        moved += traffic[path].bytes[t];
        used = used || traffic[path].used[t];
      }
    }
    for (const collectives::LinkUse& use : deployment.paths[path].links) {
      const auto link = static_cast<std::size_t>(use.link);
      if (used && deployment.links[link].link_class == link_class) {
        result.used = true;
        bytes[link] += moved * use.count;
      }
    }
  }
  double longest = -1;
  for (std::size_t link = 0; link < bytes.size(); ++link) {
    const deployment::Link& candidate = deployment.links[link];
    const double seconds = bytes[link] / candidate.bandwidth;
    if (candidate.link_class == link_class && bytes[link] > 0 && seconds > longest) {
      longest = seconds;
      result.bytes = bytes[link] * candidate.capacity_divisor;
      result.bandwidth_bytes_per_s = candidate.bandwidth * candidate.capacity_divisor;
    }
  }
  return result;
}

}  // namespace lamina::requirements
