#include "validate/cpu/plan.hpp"

#include <algorithm>
#include <string>

namespace lamina::validate::cpu {
namespace {

/// Path of the ring's edge from member `from`; -1: the collective is no ring.
std::int32_t edge(const std::vector<deployment::GroupMessage>& messages, int from, int size) {
  const auto found =
      std::find_if(messages.begin(), messages.end(), [&](const auto& message) { return message.from == from; });
  return found != messages.end() && found->to == (from + 1) % size ? found->path : -1;
}

bool is_ring(const std::vector<deployment::GroupMessage>& messages, int size) {
  return std::all_of(messages.begin(), messages.end(),
                     [&](const auto& message) { return message.to == (message.from + 1) % size; });
}

}  // namespace

Plan::Rings::const_iterator Plan::ring_of(std::size_t pipe) const {
  auto found = rings.end();
  for (auto ring = rings.begin(); ring != rings.end(); ++ring) {  // a ring's edges are numbered one after the other
    if (ring->second <= pipe && (found == rings.end() || found->second < ring->second)) {
      found = ring;
    }
  }
  return found;
}

std::optional<RingMember> ring_member(Plan::Rings::const_iterator ring, const deployment::Group& group,
                                      std::int32_t rank) {
  const auto found = std::find(group.members.begin(), group.members.end(), rank);
  if (found == group.members.end()) {
    return std::nullopt;
  }
  RingMember member;
  member.size = group.size;
  member.index = static_cast<int>(found - group.members.begin());
  member.out = ring->second + static_cast<std::size_t>(member.index);
  member.in = ring->second + static_cast<std::size_t>((member.index + member.size - 1) % member.size);
  return member;
}

tl::expected<Plan, error::Infeasible> plan_pipes(const graph::OperationGraph& graph,
                                                 const deployment::Deployment& deployment) {
  Plan plan;
  for (const deployment::Channel& channel : deployment.channels) {
    plan.pipes.push_back({channel.sender, channel.receiver, channel.path, 0});
  }
  for (const deployment::Rank& rank : deployment.ranks) {
    for (const graph::Operation& operation : graph.programs[static_cast<std::size_t>(rank.program)].operations) {
      const auto bytes = static_cast<std::size_t>(operation.bytes) + sizeof(float);
      if (operation.kind == graph::OperationKind::kSend) {
        Pipe& pipe = plan.pipes[static_cast<std::size_t>(rank.channels[operation.channel])];
        pipe.most_bytes = std::max(pipe.most_bytes, bytes);
      }
      if (operation.kind != graph::OperationKind::kCollective) {
        continue;
      }
      const std::int32_t group = rank.groups[static_cast<std::size_t>(operation.group)];
      if (group == -1 || deployment.groups[static_cast<std::size_t>(group)].size <= 1) {
        continue;
      }
      const deployment::Group& members = deployment.groups[static_cast<std::size_t>(group)];
      const auto& messages = members.messages[static_cast<std::size_t>(operation.collective)];
      const auto [ring, is_new] = plan.rings.try_emplace({group, operation.phase}, plan.pipes.size());
      for (int member = 0; member < members.size && is_new; ++member) {
        const std::int32_t path = edge(messages, member, members.size);
        if (path == -1 || !is_ring(messages, members.size)) {
          return tl::unexpected(error::Infeasible{
              "Processor cores run ring collectives only; choose simulation.collective_algorithm: ring."});
        }
        plan.pipes.push_back({members.members[static_cast<std::size_t>(member)],
                              members.members[static_cast<std::size_t>((member + 1) % members.size)], path, 0});
      }
      const std::size_t shard = bytes / static_cast<std::size_t>(members.size) + 2 * sizeof(float);
      for (int member = 0; member < members.size; ++member) {
        Pipe& pipe = plan.pipes[ring->second + static_cast<std::size_t>(member)];
        pipe.most_bytes = std::max(pipe.most_bytes, shard);
      }
    }
  }
  return plan;
}

}  // namespace lamina::validate::cpu
