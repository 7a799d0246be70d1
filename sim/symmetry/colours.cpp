#include "sim/symmetry/colours.hpp"

#include <algorithm>
#include <bit>
#include <unordered_map>

#include "sim/error/error.hpp"

namespace lamina::symmetry {
namespace {

using deployment::Deployment;

/// splitmix64's finaliser: every input bit reaches every output bit.
std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31U);
}

std::uint64_t join(std::uint64_t a, std::uint64_t b) {
  return mix(a ^ mix(b));
}

std::uint64_t bits(double value) {
  return std::bit_cast<std::uint64_t>(value);
}

using Hashes = std::vector<std::uint64_t>;

/// Colours of everything; equal colour means "not told apart so far".
struct Colours {
  Hashes rank;
  Hashes channel;
  Hashes group;
  Hashes path;
  Hashes link;
};

std::uint64_t at(const Hashes& hashes, std::int32_t index) {
  return index < 0 ? 0x5bd1e995U : hashes[static_cast<std::size_t>(index)];
}

/// Two channels between the same ranks (forward and backward), or two groups with the same members (tensor and data),
/// are told apart by what the program uses them for.
void label_by_use(const Deployment& whole, Colours& colours) {
  for (std::size_t r = 0; r < whole.ranks.size(); ++r) {
    const deployment::Rank& rank = whole.ranks[r];
    for (std::size_t c = 0; c < rank.channels.size(); ++c) {
      const auto channel = static_cast<std::size_t>(rank.channels[c]);
      if (whole.channels[channel].sender == static_cast<std::int32_t>(r)) {
        colours.channel[channel] = join(colours.channel[channel], c);
      }
    }
    for (std::size_t kind = 0; kind < rank.groups.size(); ++kind) {
      if (rank.groups[kind] >= 0) {
        // One member labels the group, so that the colour does not depend on their number.
        const auto group = static_cast<std::size_t>(rank.groups[kind]);
        if (whole.groups[group].members.front() == static_cast<std::int32_t>(r)) {
          colours.group[group] = join(colours.group[group], kind);
        }
      }
    }
  }
}

Colours initial(const Deployment& whole, std::uint64_t seed) {
  Colours colours;
  for (const deployment::Rank& rank : whole.ranks) {
    colours.rank.push_back(join(join(seed, static_cast<std::uint64_t>(rank.program)), bits(rank.slowness)));
  }
  for (const deployment::Path& path : whole.paths) {
    colours.path.push_back(join(seed + 1, bits(path.latency_s)));
  }
  for (const deployment::Link& link : whole.links) {
    const auto kind = static_cast<std::uint64_t>(link.link_class) * 2 + (link.never_limits ? 1 : 0);
    colours.link.push_back(join(join(seed + 2, kind), bits(link.bandwidth)));
  }
  colours.channel.assign(whole.channels.size(), seed + 3);
  colours.group.assign(whole.groups.size(), seed + 4);
  label_by_use(whole, colours);
  return colours;
}

/// One round: everything absorbs the colours of what it touches. Sums are order-free fingerprints of multisets.
class Round {
 public:
  Round(const Deployment& whole, const Colours& before) : whole_(whole), before_(before), after_(before) {}

  Colours run() {
    links_and_paths();
    channels();
    groups();
    ranks();
    return std::move(after_);
  }

 private:
  void links_and_paths() {
    Hashes sums(whole_.links.size(), 0);
    for (std::size_t p = 0; p < whole_.paths.size(); ++p) {
      std::uint64_t sum = 0;
      for (const collectives::LinkUse& use : whole_.paths[p].links) {
        const auto link = static_cast<std::size_t>(use.link);
        const auto count = static_cast<std::uint64_t>(use.count);
        sums[link] += join(before_.path[p], count);
        if (!whole_.links[link].never_limits) {
          sum += join(before_.link[link], count);
        }
      }
      after_.path[p] = join(before_.path[p], sum);
    }
    for (std::size_t l = 0; l < sums.size(); ++l) {
      after_.link[l] = join(before_.link[l], sums[l]);
    }
  }

  void channels() {
    for (std::size_t c = 0; c < whole_.channels.size(); ++c) {
      const deployment::Channel& channel = whole_.channels[c];
      const std::uint64_t ends = join(at(before_.rank, channel.sender), at(before_.rank, channel.receiver));
      after_.channel[c] = join(join(before_.channel[c], at(before_.path, channel.path)), ends);
      absorb(channel.path, before_.channel[c]);
    }
  }

  void groups() {
    for (std::size_t g = 0; g < whole_.groups.size(); ++g) {
      const deployment::Group& group = whole_.groups[g];
      std::uint64_t colour = join(before_.group[g], static_cast<std::uint64_t>(group.size));
      for (const std::int32_t member : group.members) {
        colour += mix(at(before_.rank, member));
      }
      std::uint64_t label = 1;
      for (const auto& steps : group.steps) {
        for (const deployment::FlowStep& step : steps) {
          colour = join(colour, join(at(before_.path, step.path), bits(step.bytes_per_payload)));
          absorb(step.path, join(before_.group[g], label++));
        }
        label += 1000;
      }
      after_.group[g] = colour;
    }
  }

  void ranks() {
    for (std::size_t r = 0; r < whole_.ranks.size(); ++r) {
      const deployment::Rank& rank = whole_.ranks[r];
      std::uint64_t colour = before_.rank[r];
      for (const std::int32_t channel : rank.channels) {
        colour = join(colour, at(before_.channel, channel));
      }
      for (const std::int32_t group : rank.groups) {
        colour = join(colour, at(before_.group, group));
      }
      colour = join(colour, join(at(before_.path, rank.to_host), at(before_.path, rank.from_host)));
      after_.rank[r] = colour;
      absorb(rank.to_host, before_.rank[r]);
      absorb(rank.from_host, join(before_.rank[r], 1));
    }
  }

  /// A path takes the colour of its owner.
  void absorb(std::int32_t path, std::uint64_t owner) {
    if (path >= 0) {
      std::uint64_t& colour = after_.path[static_cast<std::size_t>(path)];
      colour = join(colour, owner);
    }
  }

  const Deployment& whole_;
  const Colours& before_;
  Colours after_;
};

/// Replaces hashes by class numbers in order of first appearance.
std::int32_t number(const Hashes& hashes, std::vector<std::int32_t>& classes) {
  std::unordered_map<std::uint64_t, std::int32_t> seen;
  classes.resize(hashes.size());
  for (std::size_t i = 0; i < hashes.size(); ++i) {
    classes[i] = seen.try_emplace(hashes[i], static_cast<std::int32_t>(seen.size())).first->second;
  }
  return static_cast<std::int32_t>(seen.size());
}

Partition number(const Colours& colours) {
  Partition partition;
  partition.ranks = number(colours.rank, partition.rank);
  partition.channels = number(colours.channel, partition.channel);
  partition.groups = number(colours.group, partition.group);
  partition.paths = number(colours.path, partition.path);
  partition.links = number(colours.link, partition.link);
  return partition;
}

std::int64_t size(const Partition& partition) {
  return std::int64_t{partition.ranks} + partition.channels + partition.groups + partition.paths + partition.links;
}

/// Class numbers as colours, so that a round from them depends on the partition and not on the first hash.
Colours as_colours(const Partition& partition, std::uint64_t seed) {
  const auto hash = [&](const std::vector<std::int32_t>& classes, std::uint64_t salt) {
    Hashes result;
    result.reserve(classes.size());
    for (const std::int32_t c : classes) {
      result.push_back(join(seed + salt, static_cast<std::uint64_t>(c)));
    }
    return result;
  };
  return {hash(partition.rank, 11), hash(partition.channel, 12), hash(partition.group, 13), hash(partition.path, 14),
          hash(partition.link, 15)};
}

void mark_unused_links(const Deployment& whole, Partition& partition) {
  std::vector<bool> used(whole.links.size(), false);
  for (const deployment::Path& path : whole.paths) {
    for (const collectives::LinkUse& use : path.links) {
      used[static_cast<std::size_t>(use.link)] = true;
    }
  }
  std::vector<std::int32_t> renumbered(static_cast<std::size_t>(partition.links), -1);
  std::int32_t next = 0;
  for (std::size_t l = 0; l < used.size(); ++l) {
    if (!used[l]) {
      partition.link[l] = -1;
      continue;
    }
    std::int32_t& number = renumbered[static_cast<std::size_t>(partition.link[l])];
    if (number < 0) {
      number = next++;
    }
    partition.link[l] = number;
  }
  partition.links = next;
}

}  // namespace

Partition refine(const Deployment& whole) {
  constexpr std::uint64_t kSeed = 0x4c616d696e61U;
  constexpr std::uint64_t kSecondSeed = 0x666f6c64U;
  Colours colours = initial(whole, kSeed);
  Partition partition = number(colours);
  while (true) {
    colours = Round(whole, colours).run();
    Partition finer = number(colours);
    const bool stable = size(finer) == size(partition);
    partition = std::move(finer);
    if (stable) {
      break;
    }
  }
  // A colliding hash would have merged what differs: a round under another hash, from class numbers, must not split.
  const Partition check = number(Round(whole, as_colours(partition, kSecondSeed)).run());
  if (size(check) != size(partition)) {
    throw error::InternalError("folding: two different ranks or links got one colour");
  }
  mark_unused_links(whole, partition);
  return partition;
}

}  // namespace lamina::symmetry
