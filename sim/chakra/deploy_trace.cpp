#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "sim/chakra/fault.hpp"
#include "sim/chakra/import.hpp"

namespace lamina::chakra {
namespace {

using collectives::LinkUse;
using deployment::Deployment;
using graph::CollectiveKind;

std::size_t at(std::int32_t index) {
  return static_cast<std::size_t>(index);
}

class Builder {
 public:
  Builder(const Trace& trace, const Imported& imported, const fabric::Fabric& fabric,
          const collectives::Collective& algorithm, scenario::CollectiveForm form)
      : trace_(trace), imported_(imported), fabric_(fabric), algorithm_(algorithm), form_(form), router_(fabric) {}

  Deployment build() {
    copy_links();
    make_ranks();
    make_channels();
    make_groups();
    make_host_paths();
    return std::move(result_);
  }

 private:
  void copy_links() {
    result_.links.reserve(fabric_.links.size());
    for (std::size_t i = 0; i < fabric_.links.size(); ++i) {
      deployment::Link link;
      link.link_class = fabric_.links[i].link_class;
      link.bandwidth = fabric_.links[i].bandwidth.value();
      link.never_limits = fabric_.links[i].never_limits;
      link.representative = static_cast<fabric::LinkId>(i);
      result_.links.push_back(link);
    }
  }

  void make_ranks() {
    const std::int32_t most = *std::max_element(imported_.slot_of_group.begin(), imported_.slot_of_group.end());
    const std::size_t slots = std::max<std::size_t>(graph::kGroupKinds, at(most) + 1);
    result_.total_ranks = static_cast<double>(trace_.ranks.size());
    for (std::size_t r = 0; r < trace_.ranks.size(); ++r) {
      deployment::Rank rank;
      rank.program = imported_.program_of_rank[r];
      rank.data = static_cast<std::int32_t>(r);
      rank.device = static_cast<std::int32_t>(r);
      rank.channels.assign(imported_.peers[r].size(), -1);
      rank.groups.assign(slots, -1);
      result_.ranks.push_back(std::move(rank));
    }
  }

  std::int32_t add_path(std::vector<LinkUse> links, double latency_s) {
    deployment::Path path;
    path.links = std::move(links);
    path.latency_s = latency_s;
    for (const LinkUse& use : path.links) {
      const deployment::Link& link = result_.links[at(use.link)];
      if (!link.never_limits) {
        path.alone_s_per_byte = std::max(path.alone_s_per_byte, use.count / link.bandwidth);
      }
    }
    result_.paths.push_back(std::move(path));
    return static_cast<std::int32_t>(result_.paths.size()) - 1;
  }

  std::int32_t add_route(std::int32_t from, std::int32_t to) {
    route_.clear();
    const Seconds latency = router_.append(from, to, route_);
    return add_uses(route_, latency.value());
  }

  std::int32_t add_uses(const std::vector<fabric::LinkId>& links, double latency_s) {
    std::vector<LinkUse> uses;
    uses.reserve(links.size());
    for (const fabric::LinkId link : links) {
      uses.push_back({link, 1});
    }
    return add_path(std::move(uses), latency_s);
  }

  void make_channels() {
    for (std::size_t r = 0; r < trace_.ranks.size(); ++r) {
      const auto& channels = imported_.graph.programs[at(result_.ranks[r].program)].channels;
      for (std::size_t c = 0; c < channels.size(); ++c) {
        if (channels[c].sends) {
          const std::int32_t to = imported_.peers[r][c];
          const auto from = static_cast<std::int32_t>(r);
          const auto id = static_cast<std::int32_t>(result_.channels.size());
          result_.channels.push_back({from, to, add_route(from, to)});
          result_.ranks[r].channels[c] = id;
          result_.ranks[at(to)].channels[at(channels[c].peer_channel)] = id;
        }
      }
    }
  }

  void make_groups() {
    using Payloads = std::array<std::set<double>, graph::kCollectiveKinds>;
    std::vector<Payloads> payloads(trace_.groups.all.size());
    for (const RankTrace& rank : trace_.ranks) {
      for (const Node& node : rank.nodes) {
        if (node.kind == NodeKind::kCollective) {
          payloads[at(node.group)][static_cast<std::size_t>(node.collective)].insert(node.bytes);
        }
      }
    }
    for (std::size_t g = 0; g < payloads.size(); ++g) {
      const std::vector<std::int32_t>& members = trace_.groups.all[g].members;
      const bool silent =
          std::all_of(payloads[g].begin(), payloads[g].end(), [](const auto& of) { return of.empty(); });
      if (silent || members.size() < 2) {
        continue;
      }
      deployment::Group group;
      group.members = members;
      group.size = static_cast<int>(members.size());
      const std::vector<int> devices(members.begin(), members.end());
      for (std::size_t k = 0; k < payloads[g].size(); ++k) {
        if (!payloads[g][k].empty()) {
          add_collective(group, static_cast<CollectiveKind>(k), devices, payloads[g][k]);
        }
      }
      const auto id = static_cast<std::int32_t>(result_.groups.size());
      for (const std::int32_t member : members) {
        result_.ranks[at(member)].groups[at(imported_.slot_of_group[g])] = id;
      }
      result_.groups.push_back(std::move(group));
    }
  }

  void add_collective(deployment::Group& group, CollectiveKind kind, const std::vector<int>& devices,
                      const std::set<double>& payloads) {
    const auto k = static_cast<std::size_t>(kind);
    if (form_ == scenario::CollectiveForm::kFluid) {
      for (collectives::Plan& plan : collectives::make_plans(algorithm_, kind, devices, fabric_, payloads)) {
        for (collectives::PlannedPhase& phase : plan.phases) {
          const std::int32_t path = add_path(std::move(phase.links), phase.latency.value());
          group.steps[k].push_back({path, phase.bytes_per_payload, phase.pace, plan.range});
        }
      }
      return;
    }
    std::map<std::pair<int, int>, std::int32_t> path_of_pair;
    for (const collectives::MessageStep& step : algorithm_.messages(kind, devices, fabric_)) {
      const auto [entry, is_new] = path_of_pair.try_emplace({step.from, step.to}, -1);
      if (is_new) {
        entry->second = add_route(devices[at(step.from)], devices[at(step.to)]);
      }
      group.messages[k].push_back({step.from, step.to, entry->second, step.step, step.fraction});
    }
  }

  void make_host_paths() {
    for (std::size_t r = 0; r < trace_.ranks.size(); ++r) {
      for (std::size_t i = 0; i < trace_.ranks[r].nodes.size(); ++i) {
        const NodeKind kind = trace_.ranks[r].nodes[i].kind;
        if (kind == NodeKind::kLoad || kind == NodeKind::kStore) {
          make_host_path(r, i, kind == NodeKind::kStore);
        }
      }
    }
  }

  void make_host_path(std::size_t rank, std::size_t node, bool to_host) {
    deployment::Rank& owner = result_.ranks[rank];
    std::int32_t& path = to_host ? owner.to_host : owner.from_host;
    if (path >= 0) {
      return;
    }
    const fabric::Device& device = fabric_.devices[rank];
    if ((to_host ? device.to_host : device.from_host) == fabric::kNoLink) {
      refuse_file(trace_.ranks[rank].file,
                  fmt::format("{} copies {} host memory, and the devices of this cluster have no host path.",
                              name_of(trace_, rank, node), to_host ? "to" : "from"));
    }
    const fabric::Route route = fabric::host_route(fabric_, owner.device, to_host);
    path = add_uses(route.links, route.latency.value());
  }

  const Trace& trace_;
  const Imported& imported_;
  const fabric::Fabric& fabric_;
  const collectives::Collective& algorithm_;
  scenario::CollectiveForm form_;
  fabric::Router router_;
  std::vector<fabric::LinkId> route_;
  Deployment result_;
};

}  // namespace

deployment::Deployment deploy_trace(const Trace& trace, const Imported& imported, const fabric::Fabric& fabric,
                                    const collectives::Collective& algorithm, scenario::CollectiveForm form) {
  if (trace.ranks.size() > fabric.devices.size()) {
    refuse_file(trace.ranks.back().file, "The trace has more ranks than the cluster has devices.",
                fmt::format("{} ranks", trace.ranks.size()),
                fmt::format("at most {}, one on each device", fabric.devices.size()));
  }
  return Builder(trace, imported, fabric, algorithm, form).build();
}

}  // namespace lamina::chakra
