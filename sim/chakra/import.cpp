#include "sim/chakra/import.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "sim/chakra/fault.hpp"
#include "sim/chakra/rank_program.hpp"

namespace lamina::chakra {
namespace {

/// The lowest number that no other group of one of its members has: members agree on the slot, and ranks that do the
/// same use the same slots.
std::vector<std::int32_t> number_groups(const Trace& trace) {
  constexpr std::int32_t kSlots = std::numeric_limits<std::underlying_type_t<graph::GroupKind>>::max() + 1;
  std::vector<bool> used(trace.groups.all.size(), false);
  for (const RankTrace& rank : trace.ranks) {
    for (const Node& node : rank.nodes) {
      if (node.kind == NodeKind::kCollective) {
        used[static_cast<std::size_t>(node.group)] = true;
      }
    }
  }
  std::vector<std::int32_t> slots(used.size(), 0);  // of a group that is not used, or has one member: no matter
  std::vector<std::set<std::int32_t>> taken(trace.ranks.size());
  for (std::size_t group = 0; group < used.size(); ++group) {
    const std::vector<std::int32_t>& members = trace.groups.all[group].members;
    if (!used[group] || members.size() < 2) {
      continue;
    }
    std::int32_t slot = graph::kGroupKinds;
    const auto is_taken = [&](std::int32_t member) { return taken[static_cast<std::size_t>(member)].contains(slot); };
    while (std::any_of(members.begin(), members.end(), is_taken)) {
      ++slot;
    }
    if (slot >= kSlots) {
      refuse_file(
          trace.groups.file,
          fmt::format("Process group \"{}\" has members in too many other groups.", trace.groups.all[group].name), "",
          fmt::format("at most {} groups that meet", kSlots - graph::kGroupKinds));
    }
    for (const std::int32_t member : members) {
      taken[static_cast<std::size_t>(member)].insert(slot);
    }
    slots[group] = slot;
  }
  return slots;
}

/// Programs that are equal but for their peers, each once.
struct Works {
  std::vector<graph::Program> programs;
  std::vector<std::vector<std::uint32_t>> nodes;  ///< of the first rank
  std::vector<std::int32_t> of_rank;
  std::vector<std::vector<RankChannel>> channels;  ///< [rank]
};

Works find_works(const Trace& trace, const Matching& matching, const std::vector<std::int32_t>& slots) {
  Works works;
  std::unordered_multimap<std::uint64_t, std::int32_t> known;
  for (std::size_t rank = 0; rank < trace.ranks.size(); ++rank) {
    RankProgram own = program_of(trace, matching, rank, slots);
    const std::uint64_t hash = hash_of(own.program);
    const auto [begin, end] = known.equal_range(hash);
    const auto twin = std::find_if(begin, end, [&](const auto& entry) {
      return same_work(works.programs[static_cast<std::size_t>(entry.second)], own.program);
    });
    works.channels.push_back(std::move(own.channels));
    if (twin != end) {
      works.of_rank.push_back(twin->second);
      continue;
    }
    works.of_rank.push_back(static_cast<std::int32_t>(works.programs.size()));
    known.emplace(hash, works.of_rank.back());
    works.programs.push_back(std::move(own.program));
    works.nodes.push_back(std::move(own.nodes));
  }
  return works;
}

/// [rank][channel] the number of the same pair of ranks at the other end.
std::vector<std::vector<std::int32_t>> other_ends(const Works& works) {
  using Direction = std::pair<std::int32_t, bool>;
  std::vector<std::map<Direction, std::int32_t>> numbers(works.channels.size());
  for (std::size_t rank = 0; rank < works.channels.size(); ++rank) {
    for (std::size_t c = 0; c < works.channels[rank].size(); ++c) {
      const RankChannel& channel = works.channels[rank][c];
      numbers[rank].emplace(Direction{channel.peer, channel.sends}, static_cast<std::int32_t>(c));
    }
  }
  std::vector<std::vector<std::int32_t>> result(works.channels.size());
  for (std::size_t rank = 0; rank < works.channels.size(); ++rank) {
    for (const RankChannel& channel : works.channels[rank]) {
      result[rank].push_back(
          numbers[static_cast<std::size_t>(channel.peer)].at({static_cast<std::int32_t>(rank), !channel.sends}));
    }
  }
  return result;
}

/// Splits ranks of one work until the peers of those together are together too.
std::vector<std::int32_t> refine(const Works& works, const std::vector<std::vector<std::int32_t>>& ends) {
  std::vector<std::int32_t> colour = works.of_rank;
  std::size_t colours = works.programs.size();
  while (true) {
    std::map<std::vector<std::int32_t>, std::int32_t> seen;
    std::vector<std::int32_t> finer(colour.size());
    for (std::size_t rank = 0; rank < colour.size(); ++rank) {
      std::vector<std::int32_t> signature = {colour[rank]};
      for (std::size_t c = 0; c < ends[rank].size(); ++c) {
        signature.push_back(colour[static_cast<std::size_t>(works.channels[rank][c].peer)]);
        signature.push_back(ends[rank][c]);
      }
      finer[rank] = seen.try_emplace(std::move(signature), static_cast<std::int32_t>(seen.size())).first->second;
    }
    colour = std::move(finer);
    if (seen.size() == colours) {
      return colour;
    }
    colours = seen.size();
  }
}

}  // namespace

Imported import_trace(const Trace& trace, const Matching& matching) {
  Imported result;
  result.slot_of_group = number_groups(trace);
  const Works works = find_works(trace, matching, result.slot_of_group);
  const std::vector<std::vector<std::int32_t>> ends = other_ends(works);
  result.program_of_rank = refine(works, ends);
  std::vector<graph::Program> programs;
  for (std::size_t rank = 0; rank < works.of_rank.size(); ++rank) {
    auto& peers = result.peers.emplace_back();
    for (const RankChannel& channel : works.channels[rank]) {
      peers.push_back(channel.peer);
    }
    if (static_cast<std::size_t>(result.program_of_rank[rank]) < programs.size()) {
      continue;
    }
    const auto work = static_cast<std::size_t>(works.of_rank[rank]);
    graph::Program program = works.programs[work];
    for (std::size_t c = 0; c < program.channels.size(); ++c) {
      program.channels[c].peer = result.program_of_rank[static_cast<std::size_t>(peers[c])];
      program.channels[c].peer_channel = ends[rank][c];
    }
    programs.push_back(std::move(program));
    result.example_of_program.push_back(static_cast<std::int32_t>(rank));
    result.node_of_operation.push_back(works.nodes[work]);
  }
  result.graph = graph::freeze(std::move(programs));
  return result;
}

}  // namespace lamina::chakra
