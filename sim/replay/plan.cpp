#include "sim/replay/plan.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "sim/error/error.hpp"
#include "sim/replay/lone_paths.hpp"

namespace lamina::replay {
namespace {

template <class... Values>
void require(bool condition, fmt::format_string<const Values&...> what, const Values&... values) {
  if (!condition) {
    throw error::InternalError("replay: " + fmt::format(what, values...));
  }
}

bool is_index(std::int32_t index, std::size_t size) {
  return index >= 0 && static_cast<std::size_t>(index) < size;
}

bool is_amount(double value) {
  return std::isfinite(value) && value >= 0;
}

template <class Vector>
const auto& at(const Vector& vector, std::int32_t index) {
  return vector[static_cast<std::size_t>(index)];
}

class Planner {
 public:
  Planner(const graph::OperationGraph& graph, const deployment::Deployment& deployment)
      : graph_(graph), deployment_(deployment) {}

  Plan make() {
    count_predecessors();
    number_collectives();
    check_network();
    check_ranks();
    for (std::size_t group = 0; group < deployment_.groups.size(); ++group) {
      check_group(group);
    }
    for (std::size_t rank = 0; rank < deployment_.ranks.size(); ++rank) {
      check_operations(rank);
    }
    plan_.path_is_lone = lone_paths(graph_, deployment_, plan_.path_moves);
    return std::move(plan_);
  }

 private:
  void count_predecessors() {
    plan_.predecessors.assign(graph_.size(), 0);
    for (std::uint32_t vertex = 0; vertex < graph_.size(); ++vertex) {
      const auto [begin, end] = out_edges(vertex, graph_.edges);
      for (auto edge = begin; edge != end; ++edge) {
        ++plan_.predecessors[target(*edge, graph_.edges)];
      }
    }
  }

  void number_collectives() {
    plan_.collective_number.assign(graph_.size(), 0);
    collectives_.resize(graph_.programs.size());
    for (std::size_t program = 0; program < graph_.programs.size(); ++program) {
      const auto& operations = graph_.programs[program].operations;
      for (std::uint32_t i = 0; i < operations.size(); ++i) {
        if (operations[i].kind == graph::OperationKind::kCollective) {
          const auto slot = static_cast<std::size_t>(operations[i].group);
          collectives_[program].resize(std::max(collectives_[program].size(), slot + 1));
          auto& list = collectives_[program][slot];
          plan_.collective_number[graph_.first_vertex[program] + i] = static_cast<std::uint32_t>(list.size());
          list.push_back(i);
        }
      }
    }
  }

  void check_network() {
    limiting_.assign(deployment_.paths.size(), 0);
    plan_.path_moves.assign(deployment_.paths.size(), 0);
    for (std::size_t i = 0; i < deployment_.links.size(); ++i) {
      const deployment::Link& link = deployment_.links[i];
      require(link.never_limits || (std::isfinite(link.bandwidth) && link.bandwidth > 0),
              "link {} has a bandwidth of {} B/s", i, link.bandwidth);
      require(link.profile == -1 || is_index(link.profile, deployment_.profiles.size()), "link {} has profile {}", i,
              link.profile);
    }
    for (std::size_t i = 0; i < deployment_.profiles.size(); ++i) {
      check_profile(i);
    }
    for (std::size_t i = 0; i < deployment_.paths.size(); ++i) {
      const deployment::Path& path = deployment_.paths[i];
      require(is_amount(path.latency_s), "path {} has a latency of {} s", i, path.latency_s);
      require(is_amount(path.alone_s_per_byte), "path {} takes {} s per byte alone", i, path.alone_s_per_byte);
      for (const collectives::LinkUse& use : path.links) {
        require(is_index(use.link, deployment_.links.size()) && use.count >= 1, "path {} crosses link {} {} times", i,
                use.link, use.count);
        if (!at(deployment_.links, use.link).never_limits) {
          limiting_[i] = 1;
        }
      }
    }
    for (std::size_t i = 0; i < deployment_.channels.size(); ++i) {
      const deployment::Channel& channel = deployment_.channels[i];
      require(is_index(channel.sender, deployment_.ranks.size()) &&
                  is_index(channel.receiver, deployment_.ranks.size()) && is_index(channel.path, limiting_.size()),
              "channel {} leads from rank {} to rank {} over path {}", i, channel.sender, channel.receiver,
              channel.path);
    }
  }

  void check_profile(std::size_t index) const {
    const deployment::Profile& profile = deployment_.profiles[index];
    require(is_amount(profile.period_s) && !profile.changes.empty() && profile.changes.front().at.value() == 0,
            "profile {} has {} changes and a period of {} s", index, profile.changes.size(), profile.period_s);
    double least = 0;
    double most = 0;
    for (const scenario::BandwidthChange& change : profile.changes) {
      require(is_amount(change.share) && change.at.value() >= least, "profile {} has a share of {} from {} s", index,
              change.share, change.at.value());
      least = std::nextafter(change.at.value(), std::numeric_limits<double>::infinity());
      most = std::max(most, change.share);
    }
    const bool lasts = profile.period_s == 0;
    require(most > 0 && (lasts ? profile.changes.back().share > 0 : profile.period_s >= least),
            "profile {} stops its link for good, or is longer than its period of {} s", index, profile.period_s);
  }

  void check_ranks() {
    group_references_.assign(deployment_.groups.size(), 0);
    for (std::size_t i = 0; i < deployment_.ranks.size(); ++i) {
      const deployment::Rank& rank = deployment_.ranks[i];
      require(is_index(rank.program, graph_.programs.size()), "rank {} runs program {}", i, rank.program);
      require(std::isfinite(rank.slowness) && rank.slowness > 0, "rank {} has a slowness of {}", i, rank.slowness);
      require(is_amount(rank.host_delay_s) && rank.host_delay_every >= 1, "rank {} has a host delay of {} every {}", i,
              rank.host_delay_s, rank.host_delay_every);
      plan_.operations += at(graph_.programs, rank.program).operations.size();
      for (const std::int32_t group : rank.groups) {
        require(group == -1 || is_index(group, deployment_.groups.size()), "rank {} is in group {}", i, group);
        if (group != -1) {
          ++group_references_[static_cast<std::size_t>(group)];
        }
      }
    }
  }

  void check_group(std::size_t index) {
    const deployment::Group& group = deployment_.groups[index];
    require(group_references_[index] == group.members.size(), "group {} has {} members and {} ranks refer to it", index,
            group.members.size(), group_references_[index]);
    for (const std::int32_t member : group.members) {
      require(is_index(member, deployment_.ranks.size()), "group {} has member {}", index, member);
      check_agreement(index, group.members.front(), member);
    }
    for (const auto& steps : group.steps) {
      for (const deployment::FlowStep& step : steps) {
        require(is_index(step.path, limiting_.size()) && is_amount(step.bytes_per_payload) && is_amount(step.pace),
                "group {} has a flow of {} x {} per byte on path {}", index, step.bytes_per_payload, step.pace,
                step.path);
      }
    }
    for (const auto& messages : group.messages) {
      for (const deployment::GroupMessage& message : messages) {
        require(is_index(message.from, group.members.size()) && is_index(message.to, group.members.size()) &&
                    message.step >= 0 && is_index(message.path, limiting_.size()) &&
                    is_amount(message.bytes_per_payload),
                "group {} has a message from {} to {} in step {} over path {}", index, message.from, message.to,
                message.step, message.path);
      }
    }
  }

  /// Both members run the same collectives in the group, in the same order.
  void check_agreement(std::size_t group, std::int32_t first, std::int32_t other) const {
    const deployment::Rank& left = at(deployment_.ranks, first);
    const deployment::Rank& right = at(deployment_.ranks, other);
    for (std::size_t kind = 0; kind < std::max(left.groups.size(), right.groups.size()); ++kind) {
      const bool in_left = kind < left.groups.size() && left.groups[kind] == static_cast<std::int32_t>(group);
      const bool in_right = kind < right.groups.size() && right.groups[kind] == static_cast<std::int32_t>(group);
      require(in_left == in_right, "ranks {} and {} see group {} as different kinds", first, other, group);
      if (!in_left || left.program == right.program) {
        continue;
      }
      const std::span<const std::uint32_t> ours = collectives_in(left.program, kind);
      const std::span<const std::uint32_t> theirs = collectives_in(right.program, kind);
      const auto same = [&](std::uint32_t a, std::uint32_t b) {
        const graph::Operation& x = at(graph_.programs, left.program).operations[a];
        const graph::Operation& y = at(graph_.programs, right.program).operations[b];
        return x.collective == y.collective && x.bytes == y.bytes;
      };
      require(std::equal(ours.begin(), ours.end(), theirs.begin(), theirs.end(), same),
              "ranks {} and {} run different collectives in group {}", first, other, group);
    }
  }

  [[nodiscard]] std::span<const std::uint32_t> collectives_in(std::int32_t program, std::size_t kind) const {
    const auto& lists = at(collectives_, program);
    return kind < lists.size() ? std::span<const std::uint32_t>(lists[kind]) : std::span<const std::uint32_t>();
  }

  void check_operations(std::size_t index) {
    const deployment::Rank& rank = deployment_.ranks[index];
    const graph::Program& program = at(graph_.programs, rank.program);
    for (std::uint32_t i = 0; i < program.operations.size(); ++i) {
      const graph::Operation& operation = program.operations[i];
      const std::uint32_t vertex = graph_.vertex(rank.program, i);
      if (!is_amount(operation.duration_s) || !is_amount(operation.bytes)) {
        require(false, "{} lasts {} s and moves {} bytes", describe(graph_, vertex), operation.duration_s,
                operation.bytes);
      }
      switch (operation.kind) {
        case graph::OperationKind::kCompute:
          break;
        case graph::OperationKind::kSend:
        case graph::OperationKind::kReceive:
          check_message(index, operation, vertex);
          break;
        case graph::OperationKind::kHostCopy: {
          const std::int32_t path = operation.to_host ? rank.to_host : rank.from_host;
          if (!is_index(path, limiting_.size())) {
            require(false, "{} has no path to the host", describe(graph_, vertex));
          }
          add_flow(path, operation.bytes, vertex);
          break;
        }
        case graph::OperationKind::kCollective:
          check_collective(index, operation, vertex);
          break;
      }
    }
  }

  void check_message(std::size_t index, const graph::Operation& operation, std::uint32_t vertex) {
    const deployment::Rank& rank = deployment_.ranks[index];
    const std::int32_t channel =
        operation.channel < rank.channels.size() ? rank.channels[operation.channel] : std::int32_t{-1};
    if (!is_index(channel, deployment_.channels.size()) ||
        graph_.partner[vertex] == graph::OperationGraph::kNoPartner) {
      require(false, "{} has no channel or no other end", describe(graph_, vertex));
    }
    const deployment::Channel& used = at(deployment_.channels, channel);
    const bool sends = operation.kind == graph::OperationKind::kSend;
    const std::int32_t peer = at(deployment_.ranks, sends ? used.receiver : used.sender).program;
    const std::int64_t partner = std::int64_t{graph_.partner[vertex]} - graph_.vertex(peer, 0);
    const auto peer_size = static_cast<std::int64_t>(at(graph_.programs, peer).operations.size());
    if ((sends ? used.sender : used.receiver) != static_cast<std::int32_t>(index) || partner < 0 ||
        partner >= peer_size) {
      require(false, "channel {} does not join the two ends of {}", channel, describe(graph_, vertex));
    }
    if (sends) {
      add_flow(used.path, operation.bytes, vertex);
    }
  }

  void check_collective(std::size_t index, const graph::Operation& operation, std::uint32_t vertex) {
    const std::vector<std::int32_t>& groups = deployment_.ranks[index].groups;
    const auto slot = static_cast<std::size_t>(operation.group);
    if (slot >= groups.size()) {
      require(false, "{} runs in group slot {} of {}", describe(graph_, vertex), slot, groups.size());
    }
    const std::int32_t group_index = groups[slot];
    if (group_index == -1 || at(deployment_.groups, group_index).size <= 1) {
      return;
    }
    const deployment::Group& group = at(deployment_.groups, group_index);
    if (group.members.front() != static_cast<std::int32_t>(index)) {
      return;  // counted once, for the first member
    }
    const auto kind = static_cast<std::size_t>(operation.collective);
    auto chain = group.chain(operation.collective, operation.bytes);
    if (chain.empty() && group.messages[kind].empty()) {
      require(false, "group {} has no way to run {}", group_index, describe(graph_, vertex));
    }
    if (!group.messages[kind].empty()) {
      for (const deployment::GroupMessage& message : group.messages[kind]) {
        add_flow(message.path, operation.bytes * message.bytes_per_payload, vertex);
      }
      return;
    }
    for (const deployment::FlowStep& step : chain) {
      add_flow(step.path, operation.bytes * step.bytes_per_payload * step.pace, vertex);
    }
  }

  void add_flow(std::int32_t path, double bytes, std::uint32_t vertex) {
    if (bytes <= 0) {
      return;
    }
    if (limiting_[static_cast<std::size_t>(path)] == 0) {
      require(false, "{} moves {} bytes over path {}, on which no link limits it", describe(graph_, vertex), bytes,
              path);
    }
    plan_.path_moves[static_cast<std::size_t>(path)] = 1;
    plan_.largest_flow = std::max(plan_.largest_flow, bytes);
    ++plan_.flows;
  }

  const graph::OperationGraph& graph_;
  const deployment::Deployment& deployment_;
  Plan plan_;
  std::vector<char> limiting_;  ///< [path] 1: has a link that can limit a flow
  std::vector<std::size_t> group_references_;
  std::vector<std::vector<std::vector<std::uint32_t>>> collectives_;  ///< [program][group slot]
};

}  // namespace

Plan make_plan(const graph::OperationGraph& graph, const deployment::Deployment& deployment) {
  return Planner(graph, deployment).make();
}

}  // namespace lamina::replay
