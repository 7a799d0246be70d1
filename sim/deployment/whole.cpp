#include "sim/deployment/whole.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <limits>

#include <fmt/format.h>

#include "sim/error/error.hpp"

namespace lamina::deployment {
namespace {

std::size_t join(std::size_t a, std::uint64_t b) {
  return (a ^ (b + 0x9e3779b97f4a7c15U + (a << 6U) + (a >> 2U))) * 0xff51afd7ed558ccdU;
}

std::size_t join(std::size_t a, double b) {
  return join(a, std::bit_cast<std::uint64_t>(b));
}

void flatten_ranks(const Deployment& deployment, Whole& whole) {
  std::size_t slots = 0;
  for (const Rank& rank : deployment.ranks) {
    const std::int32_t kind = whole.rank_kinds.number_of(
        {rank.program, rank.slowness, rank.host_delay_s, rank.host_delay_every, rank.multiplicity});
    whole.ranks.push_back({rank.data, rank.tensor, rank.device, kind});
    whole.rank_channels.insert(whole.rank_channels.end(), rank.channels.begin(), rank.channels.end());
    whole.rank_channel_rows.close(whole.rank_channels.size());
    whole.to_host.push_back(rank.to_host);
    whole.from_host.push_back(rank.from_host);
    slots = std::max(slots, rank.groups.size());
  }
  whole.rank_groups.assign(slots, std::vector<std::int32_t>(deployment.ranks.size(), -1));
  for (std::size_t r = 0; r < deployment.ranks.size(); ++r) {
    for (std::size_t slot = 0; slot < deployment.ranks[r].groups.size(); ++slot) {
      whole.rank_groups[slot][r] = deployment.ranks[r].groups[slot];
    }
  }
}

void flatten_groups(const Deployment& deployment, Whole& whole) {
  bool has_messages = false;
  for (const Group& group : deployment.groups) {
    whole.group_members.insert(whole.group_members.end(), group.members.begin(), group.members.end());
    for (std::size_t kind = 0; kind < group.steps.size(); ++kind) {
      for (const FlowStep& step : group.steps[kind]) {
        whole.group_steps.push_back({static_cast<graph::CollectiveKind>(kind), step});
      }
      has_messages = has_messages || !group.messages[kind].empty();
    }
    whole.close_group(group.size);
  }
  for (std::size_t g = 0; has_messages && g < deployment.groups.size(); ++g) {
    whole.group_messages.push_back(deployment.groups[g].messages);
  }
}

}  // namespace

std::size_t RankKindHash::operator()(const RankKind& kind) const {
  const std::size_t delay = join(join(0, kind.host_delay_s), static_cast<std::uint64_t>(kind.host_delay_every));
  return join(join(join(delay, kind.slowness), kind.multiplicity), static_cast<std::uint64_t>(kind.program));
}

std::size_t LinkKindHash::operator()(const LinkKind& kind) const {
  const std::uint64_t label = static_cast<std::uint64_t>(kind.link_class) * 2 + (kind.never_limits ? 1 : 0);
  const std::size_t size = join(join(join(0, kind.bandwidth), kind.capacity_divisor), kind.multiplicity);
  return join(join(size, label), static_cast<std::uint64_t>(kind.profile));
}

std::size_t PathKindHash::operator()(const PathKind& kind) const {
  return join(join(0, kind.latency_s), kind.alone_s_per_byte);
}

std::int32_t Whole::close_path(double latency_s, double alone_s_per_byte) {
  if (uses.size() > std::numeric_limits<std::uint32_t>::max()) {
    throw error::InternalError(fmt::format("{} crossings of links are more than a deployment can hold", uses.size()));
  }
  path_rows.close(uses.size());
  path_kinds.push_back(kinds_of_paths.number_of({latency_s, alone_s_per_byte}));
  return static_cast<std::int32_t>(path_kinds.size()) - 1;
}

void Whole::close_group(std::int32_t size) {
  group_member_rows.close(group_members.size());
  group_step_rows.close(group_steps.size());
  group_sizes.push_back(size);
}

Whole flatten(const Deployment& deployment) {
  Whole whole;
  whole.total_ranks = deployment.total_ranks;
  whole.profiles = deployment.profiles;
  whole.channels = deployment.channels;
  flatten_ranks(deployment, whole);
  flatten_groups(deployment, whole);
  for (const Path& path : deployment.paths) {
    for (const collectives::LinkUse& use : path.links) {
      whole.add_use(use);
    }
    whole.close_path(path.latency_s, path.alone_s_per_byte);
  }
  for (const Link& link : deployment.links) {
    whole.link_kinds.push_back(whole.kinds_of_links.number_of(
        {link.link_class, link.never_limits, link.profile, link.bandwidth, link.capacity_divisor, link.multiplicity}));
  }
  return whole;
}

Rank rank_of(const Whole& whole, std::size_t rank) {
  const WholeRank& place = whole.ranks[rank];
  const RankKind& kind = whole.kind_of_rank(rank);
  Rank result;
  result.program = kind.program;
  result.data = place.data;
  result.tensor = place.tensor;
  result.device = place.device;
  result.multiplicity = kind.multiplicity;
  result.slowness = kind.slowness;
  result.host_delay_s = kind.host_delay_s;
  result.host_delay_every = kind.host_delay_every;
  const auto channels = whole.channels_of(rank);
  result.channels.assign(channels.begin(), channels.end());
  result.groups.resize(whole.rank_groups.size(), -1);
  for (std::size_t slot = 0; slot < whole.rank_groups.size(); ++slot) {
    result.groups[slot] = whole.group_of(rank, slot);
  }
  result.to_host = whole.host_path(rank, true);
  result.from_host = whole.host_path(rank, false);
  return result;
}

Group group_of(const Whole& whole, std::size_t group) {
  Group result;
  const auto members = whole.members_of(group);
  result.members.assign(members.begin(), members.end());
  result.size = whole.group_sizes[group];
  for (const WholeStep& step : whole.steps_of(group)) {
    result.steps[static_cast<std::size_t>(step.collective)].push_back(step.flow);
  }
  if (!whole.group_messages.empty()) {
    result.messages = whole.group_messages[group];
  }
  return result;
}

Link link_of(const Whole& whole, std::size_t link) {
  const auto id = static_cast<fabric::LinkId>(link);
  const LinkKind& kind = whole.kind_of_link(id);
  return {kind.link_class, kind.bandwidth, kind.capacity_divisor, kind.multiplicity, kind.never_limits, id,
          kind.profile};
}

Deployment expand(const Whole& whole) {
  Deployment deployment;
  deployment.total_ranks = whole.total_ranks;
  deployment.profiles = whole.profiles;
  deployment.channels = whole.channels;
  deployment.ranks.reserve(whole.ranks.size());
  for (std::size_t r = 0; r < whole.ranks.size(); ++r) {
    deployment.ranks.push_back(rank_of(whole, r));
  }
  deployment.groups.reserve(whole.groups());
  for (std::size_t g = 0; g < whole.groups(); ++g) {
    deployment.groups.push_back(group_of(whole, g));
  }
  deployment.paths.reserve(whole.paths());
  for (std::size_t p = 0; p < whole.paths(); ++p) {
    const PathKind& kind = whole.kind_of_path(p);
    Path& path = deployment.paths.emplace_back();
    path.latency_s = kind.latency_s;
    path.alone_s_per_byte = kind.alone_s_per_byte;
    path.links.reserve(whole.path_rows.end(p) - whole.path_rows.begin(p));
    whole.for_each_use(p, [&path](std::int32_t link, std::int32_t count) { path.links.push_back({link, count}); });
  }
  deployment.links.reserve(whole.link_kinds.size());
  for (std::size_t l = 0; l < whole.link_kinds.size(); ++l) {
    deployment.links.push_back(link_of(whole, l));
  }
  return deployment;
}

}  // namespace lamina::deployment
