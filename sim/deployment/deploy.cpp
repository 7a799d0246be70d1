#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "sim/deployment/deployment.hpp"
#include "sim/error/error.hpp"

namespace lamina::deployment {
namespace {

using collectives::LinkUse;
using graph::CollectiveKind;
using graph::GroupKind;

/// Collective kinds that a role runs in each kind of group.
using KindsInUse = std::array<std::set<CollectiveKind>, graph::kGroupKinds>;

KindsInUse kinds_in_use(const graph::Program& program) {
  KindsInUse result;
  for (const graph::Operation& operation : program.operations) {
    if (operation.kind == graph::OperationKind::kCollective) {
      result[static_cast<std::size_t>(operation.group)].insert(operation.collective);
    }
  }
  return result;
}

bool copies_to_host(const graph::Program& program, bool to_host) {
  for (const graph::Operation& operation : program.operations) {
    if (operation.kind == graph::OperationKind::kHostCopy && operation.to_host == to_host) {
      return true;
    }
  }
  return false;
}

class Builder {
 public:
  Builder(const graph::OperationGraph& graph, const scenario::Strategy& strategy, const fabric::Fabric& fabric,
          const collectives::Collective& algorithm, scenario::CollectiveForm form)
      : graph_(graph), strategy_(strategy), fabric_(fabric), algorithm_(algorithm), form_(form) {}

  Deployment build() {
    copy_links();
    make_ranks();
    make_channels();
    make_groups();
    make_host_paths();
    return std::move(result_);
  }

 private:
  [[nodiscard]] std::size_t index(int pipeline, int data, int tensor) const {
    const auto d = static_cast<std::size_t>(strategy_.data_parallel);
    const auto t = static_cast<std::size_t>(strategy_.tensor_parallel);
    return (static_cast<std::size_t>(pipeline) * d + static_cast<std::size_t>(data)) * t +
           static_cast<std::size_t>(tensor);
  }

  void copy_links() {
    result_.links.reserve(fabric_.links.size());
    for (std::size_t i = 0; i < fabric_.links.size(); ++i) {
      const fabric::Link& link = fabric_.links[i];
      result_.links.push_back(
          {link.link_class, link.bandwidth.value(), 1, 1, link.never_limits, static_cast<fabric::LinkId>(i)});
    }
  }

  void make_ranks() {
    result_.total_ranks = strategy_.ranks();
    result_.ranks.reserve(static_cast<std::size_t>(strategy_.ranks()));
    for (int p = 0; p < strategy_.pipeline_parallel; ++p) {
      const std::size_t channels = graph_.programs[static_cast<std::size_t>(p)].channels.size();
      for (int d = 0; d < strategy_.data_parallel; ++d) {
        for (int t = 0; t < strategy_.tensor_parallel; ++t) {
          Rank rank;
          rank.program = p;
          rank.data = d;
          rank.tensor = t;
          rank.device = device_of(strategy_, d, p, t);
          rank.channels.assign(channels, -1);
          result_.ranks.push_back(std::move(rank));
        }
      }
    }
  }

  std::int32_t add_path(std::vector<LinkUse> links, double latency_s) {
    double alone = 0;
    for (const LinkUse& use : links) {
      const Link& link = result_.links[static_cast<std::size_t>(use.link)];
      if (!link.never_limits) {
        alone = std::max(alone, use.count / link.bandwidth);
      }
    }
    result_.paths.push_back({std::move(links), latency_s, alone});
    return static_cast<std::int32_t>(result_.paths.size()) - 1;
  }

  std::int32_t add_route(const fabric::Route& route) {
    std::vector<LinkUse> uses;
    uses.reserve(route.links.size());
    for (const fabric::LinkId link : route.links) {
      uses.push_back({link, 1});
    }
    return add_path(std::move(uses), route.latency.value());
  }

  void make_channels() {
    for (int p = 0; p < strategy_.pipeline_parallel; ++p) {
      const auto& channels = graph_.programs[static_cast<std::size_t>(p)].channels;
      for (std::size_t c = 0; c < channels.size(); ++c) {
        if (channels[c].sends) {
          make_channel(p, c, channels[c]);
        }
      }
    }
  }

  void make_channel(int pipeline, std::size_t c, const graph::Channel& channel) {
    for (int d = 0; d < strategy_.data_parallel; ++d) {
      for (int t = 0; t < strategy_.tensor_parallel; ++t) {
        const std::size_t from = index(pipeline, d, t);
        const std::size_t to = index(channel.peer, d, t);
        const auto id = static_cast<std::int32_t>(result_.channels.size());
        const std::int32_t path =
            add_route(fabric::route(fabric_, result_.ranks[from].device, result_.ranks[to].device));
        result_.channels.push_back({static_cast<std::int32_t>(from), static_cast<std::int32_t>(to), path});
        result_.ranks[from].channels[c] = id;
        result_.ranks[to].channels[static_cast<std::size_t>(channel.peer_channel)] = id;
      }
    }
  }

  void make_groups() {
    for (int p = 0; p < strategy_.pipeline_parallel; ++p) {
      const KindsInUse kinds = kinds_in_use(graph_.programs[static_cast<std::size_t>(p)]);
      for (int d = 0; d < strategy_.data_parallel; ++d) {
        std::vector<std::int32_t> members;
        for (int t = 0; t < strategy_.tensor_parallel; ++t) {
          members.push_back(static_cast<std::int32_t>(index(p, d, t)));
        }
        add_group(GroupKind::kTensor, members, kinds[static_cast<std::size_t>(GroupKind::kTensor)]);
      }
      for (int t = 0; t < strategy_.tensor_parallel; ++t) {
        std::vector<std::int32_t> members;
        for (int d = 0; d < strategy_.data_parallel; ++d) {
          members.push_back(static_cast<std::int32_t>(index(p, d, t)));
        }
        add_group(GroupKind::kData, members, kinds[static_cast<std::size_t>(GroupKind::kData)]);
      }
    }
    const KindsInUse first = kinds_in_use(graph_.programs.front());
    for (int d = 0; d < strategy_.data_parallel; ++d) {
      for (int t = 0; t < strategy_.tensor_parallel; ++t) {
        std::vector<std::int32_t> members;
        for (int p = 0; p < strategy_.pipeline_parallel; ++p) {
          members.push_back(static_cast<std::int32_t>(index(p, d, t)));
        }
        add_group(GroupKind::kPipeline, members, first[static_cast<std::size_t>(GroupKind::kPipeline)]);
        add_group(GroupKind::kEmbedding, {members.front(), members.back()},
                  first[static_cast<std::size_t>(GroupKind::kEmbedding)]);
      }
    }
  }

  void add_group(GroupKind kind, const std::vector<std::int32_t>& members, const std::set<CollectiveKind>& in_use) {
    if (in_use.empty() || members.size() < 2) {
      return;
    }
    Group group;
    group.members = members;
    group.size = static_cast<int>(members.size());
    std::vector<int> devices;
    devices.reserve(members.size());
    for (const std::int32_t member : members) {
      devices.push_back(result_.ranks[static_cast<std::size_t>(member)].device);
    }
    for (const CollectiveKind collective : in_use) {
      const auto k = static_cast<std::size_t>(collective);
      if (form_ == scenario::CollectiveForm::kMessage) {
        group.messages[k] = message_form(collective, devices);
      } else {
        group.steps[k] = fluid_form(collective, devices);
      }
    }
    const auto id = static_cast<std::int32_t>(result_.groups.size());
    for (const std::int32_t member : members) {
      result_.ranks[static_cast<std::size_t>(member)].groups[static_cast<std::size_t>(kind)] = id;
    }
    result_.groups.push_back(std::move(group));
  }

  std::vector<FlowStep> fluid_form(CollectiveKind kind, const std::vector<int>& devices) {
    std::vector<FlowStep> steps;
    for (collectives::FlowPhase& phase : algorithm_.phases(kind, devices, fabric_)) {
      steps.push_back({add_path(std::move(phase.links), phase.latency.value()), phase.bytes_per_payload});
    }
    return steps;
  }

  std::vector<GroupMessage> message_form(CollectiveKind kind, const std::vector<int>& devices) {
    std::map<std::pair<int, int>, std::int32_t> path_of_pair;
    std::vector<GroupMessage> messages;
    for (const collectives::MessageStep& step : algorithm_.messages(kind, devices, fabric_)) {
      auto [entry, is_new] = path_of_pair.try_emplace({step.from, step.to}, -1);
      if (is_new) {
        entry->second = add_route(fabric::route(fabric_, devices[static_cast<std::size_t>(step.from)],
                                                devices[static_cast<std::size_t>(step.to)]));
      }
      messages.push_back({step.from, step.to, entry->second, step.step, step.fraction});
    }
    return messages;
  }

  void make_host_paths() {
    for (const bool to_host : {false, true}) {
      std::vector<bool> needed;
      for (const graph::Program& program : graph_.programs) {
        needed.push_back(copies_to_host(program, to_host));
      }
      for (Rank& rank : result_.ranks) {
        if (needed[static_cast<std::size_t>(rank.program)]) {
          (to_host ? rank.to_host : rank.from_host) = add_route(fabric::host_route(fabric_, rank.device, to_host));
        }
      }
    }
  }

  const graph::OperationGraph& graph_;
  const scenario::Strategy& strategy_;
  const fabric::Fabric& fabric_;
  const collectives::Collective& algorithm_;
  scenario::CollectiveForm form_;
  Deployment result_;
};

}  // namespace

int device_of(const scenario::Strategy& strategy, int data, int pipeline, int tensor) {
  int device = 0;
  int stride = 1;
  for (const scenario::Dimension dimension : strategy.placement) {
    switch (dimension) {
      case scenario::Dimension::kTensor:
        device += tensor * stride;
        stride *= strategy.tensor_parallel;
        break;
      case scenario::Dimension::kData:
        device += data * stride;
        stride *= strategy.data_parallel;
        break;
      case scenario::Dimension::kPipeline:
        device += pipeline * stride;
        stride *= strategy.pipeline_parallel;
        break;
    }
  }
  return device;
}

Deployment deploy(const graph::OperationGraph& graph, const scenario::Strategy& strategy, const fabric::Fabric& fabric,
                  const collectives::Collective& algorithm, scenario::CollectiveForm form) {
  if (static_cast<int>(graph.programs.size()) != strategy.pipeline_parallel) {
    throw error::InternalError(
        fmt::format("{} programs for {} pipeline ranks", graph.programs.size(), strategy.pipeline_parallel));
  }
  if (strategy.ranks() > static_cast<int>(fabric.devices.size())) {
    throw error::InternalError(fmt::format("{} ranks on {} devices", strategy.ranks(), fabric.devices.size()));
  }
  return Builder(graph, strategy, fabric, algorithm, form).build();
}

}  // namespace lamina::deployment
