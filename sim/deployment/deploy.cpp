#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "sim/deployment/deployment.hpp"
#include "sim/deployment/whole.hpp"
#include "sim/error/error.hpp"
#include "sim/fabric/large_pages.hpp"

namespace lamina::deployment {
namespace {

using collectives::LinkUse;
using graph::CollectiveKind;
using graph::GroupKind;

/// Payloads of the collectives that a role runs in each kind of group.
using KindsInUse = std::array<std::map<CollectiveKind, std::set<double>>, graph::kGroupKinds>;

KindsInUse kinds_in_use(const graph::Program& program) {
  KindsInUse result;
  for (const graph::Operation& operation : program.operations) {
    if (operation.kind == graph::OperationKind::kCollective) {
      result[static_cast<std::size_t>(operation.group)][operation.collective].insert(operation.bytes);
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
      : graph_(graph),
        strategy_(strategy),
        fabric_(fabric),
        algorithm_(algorithm),
        form_(form),
        router_(fabric),
        replicas_(at(strategy.data_parallel) * at(strategy.tensor_parallel)) {}

  Whole build() {
    copy_links();
    make_ranks();
    make_channels();
    make_groups();
    make_host_paths();
    return std::move(result_);
  }

 private:
  static std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

  [[nodiscard]] std::size_t index(int pipeline, int data, int tensor) const {
    return at(pipeline) * replicas_ + at(data) * at(strategy_.tensor_parallel) + at(tensor);
  }

  void copy_links() {
    fabric::reserve_large(result_.link_kinds, fabric_.links.size());
    for (const fabric::Link& link : fabric_.links) {
      LinkKind kind;
      kind.link_class = link.link_class;
      kind.never_limits = link.never_limits;
      kind.bandwidth = link.bandwidth.value();
      result_.link_kinds.push_back(result_.kinds_of_links.number_of(kind));
    }
  }

  void make_ranks() {
    const std::size_t count = at(strategy_.ranks());
    result_.total_ranks = strategy_.ranks();
    fabric::reserve_large(result_.ranks, count);
    result_.rank_channel_rows.reserve(count);
    result_.rank_groups.resize(graph::kGroupKinds);
    for (int p = 0; p < strategy_.pipeline_parallel; ++p) {
      RankKind kind;
      kind.program = p;
      const std::int32_t number = result_.rank_kinds.number_of(kind);
      const std::size_t channels = graph_.programs[at(p)].channels.size();
      for (int d = 0; d < strategy_.data_parallel; ++d) {
        for (int t = 0; t < strategy_.tensor_parallel; ++t) {
          result_.ranks.push_back({d, t, device_of(strategy_, d, p, t), number});
          result_.rank_channel_rows.close(result_.rank_channel_rows.end_of_last() + channels);
        }
      }
    }
    fabric::reserve_large(result_.rank_channels, result_.rank_channel_rows.end_of_last());
    result_.rank_channels.assign(result_.rank_channel_rows.end_of_last(), -1);
  }

  /// Ends the path whose uses were appended since the last one ended.
  std::int32_t close_path(double latency_s) {
    double alone = 0;
    result_.for_each_use_between(uses_before_, result_.uses.size(), [&](std::int32_t link, std::int32_t count) {
      const LinkKind& kind = result_.kind_of_link(link);
      if (!kind.never_limits) {
        alone = std::max(alone, count / kind.bandwidth);
      }
    });
    uses_before_ = result_.uses.size();
    return result_.close_path(latency_s, alone);
  }

  std::int32_t add_path(const std::vector<LinkUse>& links, double latency_s) {
    for (const LinkUse& use : links) {
      result_.add_use(use);
    }
    return close_path(latency_s);
  }

  std::int32_t add_route(int from_device, int to_device) {
    return close_path(router_.append(from_device, to_device, result_.uses).value());
  }

  static constexpr std::size_t kLinksOfRoute = 6;  ///< or fewer; what is not written to takes no memory

  void make_channels() {
    std::size_t count = 0;
    for (const graph::Program& program : graph_.programs) {
      count += replicas_ *
               static_cast<std::size_t>(std::count_if(program.channels.begin(), program.channels.end(),
                                                      [](const graph::Channel& channel) { return channel.sends; }));
    }
    fabric::reserve_large(result_.channels, count);
    fabric::reserve_large(result_.path_kinds, count + result_.ranks.size());
    result_.path_rows.reserve(count + result_.ranks.size());
    fabric::reserve_large(result_.uses, kLinksOfRoute * (count + result_.ranks.size()));
    for (int p = 0; p < strategy_.pipeline_parallel; ++p) {
      const auto& channels = graph_.programs[at(p)].channels;
      for (std::size_t c = 0; c < channels.size(); ++c) {
        if (channels[c].sends) {
          make_channel(p, c, channels[c]);
        }
      }
    }
  }

  void make_channel(int pipeline, std::size_t c, const graph::Channel& channel) {
    const auto peer_channel = static_cast<std::size_t>(channel.peer_channel);
    for (std::size_t replica = 0; replica < replicas_; ++replica) {
      const std::size_t from = index(pipeline, 0, 0) + replica;
      const std::size_t to = index(channel.peer, 0, 0) + replica;
      const auto id = static_cast<std::int32_t>(result_.channels.size());
      const std::int32_t path = add_route(result_.ranks[from].device, result_.ranks[to].device);
      result_.channels.push_back({static_cast<std::int32_t>(from), static_cast<std::int32_t>(to), path});
      result_.rank_channels[result_.rank_channel_rows.begin(from) + c] = id;
      result_.rank_channels[result_.rank_channel_rows.begin(to) + peer_channel] = id;
    }
  }

  void make_groups() {
    fabric::reserve_large(result_.group_members, 2 * result_.ranks.size());  // by tensor and by data
    const int data = strategy_.data_parallel;
    const int tensor = strategy_.tensor_parallel;
    const int pipeline = strategy_.pipeline_parallel;
    for (int p = 0; p < pipeline; ++p) {
      const KindsInUse kinds = kinds_in_use(graph_.programs[at(p)]);
      for (int d = 0; d < data; ++d) {
        add_group(GroupKind::kTensor, kinds, tensor, [&](int t) { return index(p, d, t); });
      }
      for (int t = 0; t < tensor; ++t) {
        add_group(GroupKind::kData, kinds, data, [&](int d) { return index(p, d, t); });
      }
    }
    const KindsInUse first = kinds_in_use(graph_.programs.front());
    for (int d = 0; d < data; ++d) {
      for (int t = 0; t < tensor; ++t) {
        add_group(GroupKind::kPipeline, first, pipeline, [&](int p) { return index(p, d, t); });
        add_group(GroupKind::kEmbedding, first, 2, [&](int end) { return index(end == 0 ? 0 : pipeline - 1, d, t); });
      }
    }
  }

  template <class Member>
  void add_group(GroupKind kind, const KindsInUse& in_use, int size, Member member_at) {
    const auto& collectives = in_use[static_cast<std::size_t>(kind)];
    if (collectives.empty() || size < 2) {
      return;
    }
    const auto id = static_cast<std::int32_t>(result_.groups());
    std::vector<std::int32_t>& group_of_rank = result_.rank_groups[static_cast<std::size_t>(kind)];
    fabric::reserve_large(group_of_rank, result_.ranks.size());
    group_of_rank.resize(result_.ranks.size(), -1);
    devices_.clear();
    for (int i = 0; i < size; ++i) {
      const std::size_t member = member_at(i);
      group_of_rank[member] = id;
      result_.group_members.push_back(static_cast<std::int32_t>(member));
      devices_.push_back(result_.ranks[member].device);
    }
    if (form_ == scenario::CollectiveForm::kMessage) {
      auto& messages = result_.group_messages.emplace_back();
      for (const auto& [collective, payloads] : collectives) {
        messages[static_cast<std::size_t>(collective)] = message_form(collective);
      }
    } else {
      for (const auto& [collective, payloads] : collectives) {
        add_fluid_form(collective, payloads);
      }
    }
    result_.close_group(size);
  }

  void add_fluid_form(CollectiveKind kind, const std::set<double>& payloads) {
    for (const collectives::Plan& plan : collectives::make_plans(algorithm_, kind, devices_, fabric_, payloads)) {
      for (const collectives::PlannedPhase& phase : plan.phases) {
        const std::int32_t path = add_path(phase.links, phase.latency.value());
        result_.group_steps.push_back({kind, {path, phase.bytes_per_payload, phase.pace, plan.range}});
      }
    }
  }

  std::vector<GroupMessage> message_form(CollectiveKind kind) {
    std::map<std::pair<int, int>, std::int32_t> path_of_pair;
    std::vector<GroupMessage> messages;
    for (const collectives::MessageStep& step : algorithm_.messages(kind, devices_, fabric_)) {
      auto [entry, is_new] = path_of_pair.try_emplace({step.from, step.to}, -1);
      if (is_new) {
        entry->second = add_route(devices_[at(step.from)], devices_[at(step.to)]);
      }
      messages.push_back({step.from, step.to, entry->second, step.step, step.fraction});
    }
    return messages;
  }

  void make_host_paths() {
    for (const bool to_host : {false, true}) {
      std::vector<std::int32_t>& paths = to_host ? result_.to_host : result_.from_host;
      for (int p = 0; p < strategy_.pipeline_parallel; ++p) {
        if (!copies_to_host(graph_.programs[at(p)], to_host)) {
          continue;
        }
        paths.resize(result_.ranks.size(), -1);
        for (std::size_t rank = index(p, 0, 0); rank < index(p + 1, 0, 0); ++rank) {
          const fabric::Route route = fabric::host_route(fabric_, result_.ranks[rank].device, to_host);
          result_.uses.insert(result_.uses.end(), route.links.begin(), route.links.end());
          paths[rank] = close_path(route.latency.value());
        }
      }
    }
  }

  const graph::OperationGraph& graph_;
  const scenario::Strategy& strategy_;
  const fabric::Fabric& fabric_;
  const collectives::Collective& algorithm_;
  scenario::CollectiveForm form_;
  fabric::Router router_;
  std::size_t replicas_;      ///< ranks of one program
  std::vector<int> devices_;  ///< of the group at hand
  std::size_t uses_before_ = 0;
  Whole result_;
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

Whole deploy_whole(const graph::OperationGraph& graph, const scenario::Strategy& strategy, const fabric::Fabric& fabric,
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

Deployment deploy(const graph::OperationGraph& graph, const scenario::Strategy& strategy, const fabric::Fabric& fabric,
                  const collectives::Collective& algorithm, scenario::CollectiveForm form) {
  return expand(deploy_whole(graph, strategy, fabric, algorithm, form));
}

}  // namespace lamina::deployment
