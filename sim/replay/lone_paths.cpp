#include "sim/replay/lone_paths.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace lamina::replay {
namespace {

using graph::OperationKind;

constexpr std::int32_t kNobody = -1;
constexpr std::int32_t kSeveral = -2;

void add_owner(std::int32_t& owner, std::int32_t candidate) {
  owner = owner == kNobody || owner == candidate ? candidate : kSeveral;
}

/// The stream of each kind of operation of a program; kSeveral: there are more, or it is not in order.
struct StreamsOf {
  std::vector<std::int32_t> channels;
  std::vector<std::int32_t> groups;      ///< by Operation::group
  std::array<std::int32_t, 2> copies{};  ///< from and to the host
};

StreamsOf streams_of(const graph::Program& program) {
  StreamsOf result;
  result.channels.assign(program.channels.size(), kNobody);
  result.copies.fill(kNobody);
  for (const graph::Operation& operation : program.operations) {
    const std::int32_t stream = program.streams[operation.stream].in_order ? std::int32_t{operation.stream} : kSeveral;
    switch (operation.kind) {
      case OperationKind::kCompute:
        break;
      case OperationKind::kSend:
      case OperationKind::kReceive:
        add_owner(result.channels[operation.channel], stream);
        break;
      case OperationKind::kHostCopy:
        add_owner(result.copies[operation.to_host ? 1 : 0], stream);
        break;
      case OperationKind::kCollective: {
        const auto slot = static_cast<std::size_t>(operation.group);
        result.groups.resize(std::max(result.groups.size(), slot + 1), kNobody);
        add_owner(result.groups[slot], stream);
        break;
      }
    }
  }
  return result;
}

class Owners {
 public:
  Owners(const graph::OperationGraph& graph, const deployment::Deployment& deployment, const std::vector<char>& moves)
      : deployment_(deployment), moves_(moves), of_path_(deployment.paths.size(), kNobody) {
    for (const graph::Program& program : graph.programs) {
      streams_.push_back(streams_of(program));
    }
    own_groups();
    own_channels();
    own_copies();
  }

  [[nodiscard]] std::vector<char> lone() const {
    std::vector<std::int32_t> of_link(deployment_.links.size(), kNobody);
    for (std::size_t path = 0; path < of_path_.size(); ++path) {
      for (const collectives::LinkUse& use : deployment_.paths[path].links) {
        if (moves_[path] != 0) {
          add_owner(of_link[static_cast<std::size_t>(use.link)], of_path_[path]);
        }
      }
    }
    std::vector<char> result(of_path_.size(), 0);
    for (std::size_t path = 0; path < of_path_.size(); ++path) {
      const auto& uses = deployment_.paths[path].links;
      result[path] = moves_[path] != 0 && of_path_[path] >= 0 &&
                             std::all_of(uses.begin(), uses.end(),
                                         [&](const collectives::LinkUse& use) {
                                           const auto index = static_cast<std::size_t>(use.link);
                                           const deployment::Link& link = deployment_.links[index];
                                           return link.never_limits || (link.profile < 0 && of_link[index] >= 0);
                                         })
                         ? 1
                         : 0;
    }
    return result;
  }

 private:
  [[nodiscard]] const StreamsOf& streams(std::int32_t rank) const {
    return streams_[static_cast<std::size_t>(deployment_.ranks[static_cast<std::size_t>(rank)].program)];
  }

  void own(std::int32_t path, std::int32_t owner) {
    if (path >= 0) {
      add_owner(of_path_[static_cast<std::size_t>(path)], owner);
    }
  }

  void own_groups() {
    for (std::size_t g = 0; g < deployment_.groups.size(); ++g) {
      const deployment::Group& group = deployment_.groups[g];
      const auto owner = in_one_stream(static_cast<std::int32_t>(g)) ? static_cast<std::int32_t>(g) : kSeveral;
      for (const auto& steps : group.steps) {
        for (const deployment::FlowStep& step : steps) {
          own(step.path, owner);
        }
      }
      for (const auto& messages : group.messages) {
        for (const deployment::GroupMessage& message : messages) {
          own(message.path, kSeveral);
        }
      }
    }
  }

  /// Collectives of a group end together, so that one member in order is enough.
  [[nodiscard]] bool in_one_stream(std::int32_t group) const {
    const std::int32_t member = deployment_.groups[static_cast<std::size_t>(group)].members.front();
    const auto& groups = deployment_.ranks[static_cast<std::size_t>(member)].groups;
    const std::vector<std::int32_t>& in_slot = streams(member).groups;
    for (std::size_t slot = 0; slot < std::min(groups.size(), in_slot.size()); ++slot) {
      if (groups[slot] == group && in_slot[slot] == kSeveral) {
        return false;
      }
    }
    return std::count(groups.begin(), groups.end(), group) == 1;
  }

  void own_channels() {
    const auto first = static_cast<std::int32_t>(deployment_.groups.size());
    for (std::size_t r = 0; r < deployment_.ranks.size(); ++r) {
      const auto rank = static_cast<std::int32_t>(r);
      const auto& channels = deployment_.ranks[r].channels;
      for (std::size_t c = 0; c < channels.size(); ++c) {
        if (channels[c] < 0) {
          continue;
        }
        const deployment::Channel& channel = deployment_.channels[static_cast<std::size_t>(channels[c])];
        if (channel.sender == rank) {
          own(channel.path, streams(rank).channels[c] == kSeveral ? kSeveral : first + channels[c]);
        }
      }
    }
  }

  void own_copies() {
    const auto first = static_cast<std::int32_t>(deployment_.groups.size() + deployment_.channels.size());
    for (std::size_t r = 0; r < deployment_.ranks.size(); ++r) {
      const deployment::Rank& rank = deployment_.ranks[r];
      const StreamsOf& of_rank = streams(static_cast<std::int32_t>(r));
      const auto owner = first + 2 * static_cast<std::int32_t>(r);
      own(rank.from_host, of_rank.copies[0] == kSeveral ? kSeveral : owner);
      own(rank.to_host, of_rank.copies[1] == kSeveral ? kSeveral : owner + 1);
    }
  }

  const deployment::Deployment& deployment_;
  const std::vector<char>& moves_;
  std::vector<StreamsOf> streams_;     ///< [program]
  std::vector<std::int32_t> of_path_;  ///< group, channel or copy direction, numbered one after the other
};

}  // namespace

std::vector<char> lone_paths(const graph::OperationGraph& graph, const deployment::Deployment& deployment,
                             const std::vector<char>& moves) {
  return Owners(graph, deployment, moves).lone();
}

}  // namespace lamina::replay
