#include "sim/symmetry/fold.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "sim/error/error.hpp"
#include "sim/symmetry/colours.hpp"

namespace lamina::symmetry {
namespace {

using deployment::Deployment;
using deployment::Whole;

std::int32_t class_of(const std::vector<std::int32_t>& classes, std::int32_t index) {
  return index < 0 ? -1 : classes[static_cast<std::size_t>(index)];
}

/// Index of the first member of each class.
std::vector<std::size_t> representatives(const std::vector<std::int32_t>& classes, std::int32_t count) {
  std::vector<std::size_t> result(static_cast<std::size_t>(count));
  std::vector<bool> known(static_cast<std::size_t>(count), false);
  for (std::size_t i = 0; i < classes.size(); ++i) {
    if (classes[i] >= 0 && !known[static_cast<std::size_t>(classes[i])]) {
      known[static_cast<std::size_t>(classes[i])] = true;
      result[static_cast<std::size_t>(classes[i])] = i;
    }
  }
  return result;
}

class Quotient {
 public:
  Quotient(const Whole& whole, const Partition& partition) : whole_(whole), partition_(partition) {}

  Deployment build() {
    ranks();
    channels();
    groups();
    links();
    paths();
    cancel_common_factors();
    return std::move(folded_);
  }

 private:
  void ranks() {
    folded_.total_ranks = whole_.total_ranks;
    folded_.profiles = whole_.profiles;
    for (const std::size_t r : representatives(partition_.rank, partition_.ranks)) {
      deployment::Rank rank = deployment::rank_of(whole_, r);
      rank.multiplicity = 0;
      for (std::int32_t& channel : rank.channels) {
        channel = class_of(partition_.channel, channel);
      }
      for (std::int32_t& group : rank.groups) {
        group = class_of(partition_.group, group);
      }
      rank.to_host = class_of(partition_.path, rank.to_host);
      rank.from_host = class_of(partition_.path, rank.from_host);
      folded_.ranks.push_back(std::move(rank));
    }
    for (std::size_t r = 0; r < whole_.ranks.size(); ++r) {
      folded_.ranks[static_cast<std::size_t>(partition_.rank[r])].multiplicity += whole_.kind_of_rank(r).multiplicity;
    }
  }

  void channels() {
    for (const std::size_t c : representatives(partition_.channel, partition_.channels)) {
      const deployment::Channel& channel = whole_.channels[c];
      folded_.channels.push_back({class_of(partition_.rank, channel.sender),
                                  class_of(partition_.rank, channel.receiver),
                                  class_of(partition_.path, channel.path)});
    }
  }

  void groups() {
    for (const std::size_t g : representatives(partition_.group, partition_.groups)) {
      deployment::Group group = deployment::group_of(whole_, g);
      for (std::int32_t& member : group.members) {
        member = class_of(partition_.rank, member);
      }
      std::sort(group.members.begin(), group.members.end());
      group.members.erase(std::unique(group.members.begin(), group.members.end()), group.members.end());
      for (auto& steps : group.steps) {
        for (deployment::FlowStep& step : steps) {
          step.path = class_of(partition_.path, step.path);
        }
      }
      folded_.groups.push_back(std::move(group));
    }
  }

  void links() {
    representative_link_ = representatives(partition_.link, partition_.links);
    for (const std::size_t l : representative_link_) {
      folded_.links.push_back(deployment::link_of(whole_, l));
      folded_.links.back().multiplicity = 0;
    }
    for (std::size_t l = 0; l < whole_.link_kinds.size(); ++l) {
      if (partition_.link[l] >= 0) {
        folded_.links[static_cast<std::size_t>(partition_.link[l])].multiplicity +=
            whole_.kind_of_link(static_cast<fabric::LinkId>(l)).multiplicity;
      }
    }
  }

  /// A class of flows charges a link as often as its members together cross the class's representative link.
  void paths() {
    std::vector<std::map<std::int32_t, std::int32_t>> charges(static_cast<std::size_t>(partition_.paths));
    std::vector<bool> is_representative(whole_.link_kinds.size(), false);
    for (const std::size_t l : representative_link_) {
      is_representative[l] = true;
    }
    for (std::size_t p = 0; p < whole_.paths(); ++p) {
      whole_.for_each_use(p, [&](std::int32_t link, std::int32_t count) {
        if (is_representative[static_cast<std::size_t>(link)]) {
          charges[static_cast<std::size_t>(partition_.path[p])][class_of(partition_.link, link)] += count;
        }
      });
    }
    const std::vector<std::size_t> members = representatives(partition_.path, partition_.paths);
    for (std::size_t c = 0; c < members.size(); ++c) {
      const deployment::PathKind& kind = whole_.kind_of_path(members[c]);
      deployment::Path& path = folded_.paths.emplace_back();
      path.latency_s = kind.latency_s;
      path.alone_s_per_byte = kind.alone_s_per_byte;
      for (const auto& [link, count] : charges[c]) {
        path.links.push_back({link, count});
      }
    }
  }

  /// A link that every class charges a multiple of g times is a link of 1/g of the bandwidth charged 1/g as often.
  void cancel_common_factors() {
    std::vector<std::int32_t> factor(folded_.links.size(), 0);
    for (const deployment::Path& path : folded_.paths) {
      for (const collectives::LinkUse& use : path.links) {
        std::int32_t& f = factor[static_cast<std::size_t>(use.link)];
        f = std::gcd(f, use.count);
      }
    }
    for (deployment::Path& path : folded_.paths) {
      for (collectives::LinkUse& use : path.links) {
        use.count /= factor[static_cast<std::size_t>(use.link)];
      }
    }
    for (std::size_t l = 0; l < folded_.links.size(); ++l) {
      if (factor[l] > 1) {
        folded_.links[l].bandwidth /= factor[l];
        folded_.links[l].capacity_divisor *= factor[l];
      }
    }
  }

  const Whole& whole_;
  const Partition& partition_;
  Deployment folded_;
  std::vector<std::size_t> representative_link_;
};

std::int64_t crossings(const Whole& whole, std::int32_t path, bool over_time) {
  std::int64_t count = 0;
  if (path >= 0) {
    whole.for_each_use(static_cast<std::size_t>(path), [&](std::int32_t link, std::int32_t times) {
      count += over_time && whole.kind_of_link(link).profile < 0 ? 0 : times;
    });
  }
  return count;
}

/// Crossings by the collectives of one of a rank's groups.
std::int64_t group_crossings(const Whole& whole, std::size_t rank, std::size_t slot, bool over_time) {
  std::int64_t count = 0;
  const std::int32_t group = whole.group_of(rank, slot);
  if (group >= 0) {
    for (const deployment::WholeStep& step : whole.steps_of(static_cast<std::size_t>(group))) {
      count += crossings(whole, step.flow.path, over_time);
    }
  }
  return count;
}

/// Crossings of links with a profile by the flows in which a rank takes part.
std::int64_t crossings_over_time(const Whole& whole, std::size_t rank) {
  std::int64_t count = 0;
  for (const std::int32_t channel : whole.channels_of(rank)) {
    count += channel < 0 ? 0 : crossings(whole, whole.channels[static_cast<std::size_t>(channel)].path, true);
  }
  for (std::size_t slot = 0; slot < whole.rank_groups.size(); ++slot) {
    count += group_crossings(whole, rank, slot, true);
  }
  return count + crossings(whole, whole.host_path(rank, true), true) +
         crossings(whole, whole.host_path(rank, false), true);
}

/// What a disturbance did to one of the two ranks; empty: nothing.
std::string disturbance(const Whole& whole, std::size_t a, std::size_t b) {
  const deployment::RankKind& left = whole.kind_of_rank(a);
  const deployment::RankKind& right = whole.kind_of_rank(b);
  if (left.slowness != right.slowness) {
    return fmt::format("slow device: device speed factor {} against {}", left.slowness, right.slowness);
  }
  if (left.host_delay_s != right.host_delay_s || left.host_delay_every != right.host_delay_every) {
    return fmt::format("host delay: {:g} s before every {}. compute operation against {:g} s before every {}.",
                       left.host_delay_s, left.host_delay_every, right.host_delay_s, right.host_delay_every);
  }
  if (!whole.profiles.empty()) {
    const std::int64_t here = crossings_over_time(whole, a);
    const std::int64_t there = crossings_over_time(whole, b);
    if (here != there) {
      return fmt::format("link share over time: {} link(s) with a profile on its paths against {}", here, there);
    }
  }
  return {};
}

/// Says what tells two classes of one program apart, as far as it can be seen on the representatives themselves.
std::string difference(const Whole& whole, std::size_t a, std::size_t b) {
  if (std::string found = disturbance(whole, a, b); !found.empty()) {
    return found;
  }
  for (std::size_t c = 0; c < whole.channels_of(a).size(); ++c) {
    const auto path_of = [&](std::size_t rank) {
      return whole.channels[static_cast<std::size_t>(whole.channels_of(rank)[c])].path;
    };
    const std::int64_t here = crossings(whole, path_of(a), false);
    const std::int64_t there = crossings(whole, path_of(b), false);
    const double latency = whole.kind_of_path(static_cast<std::size_t>(path_of(a))).latency_s;
    const double other_latency = whole.kind_of_path(static_cast<std::size_t>(path_of(b))).latency_s;
    if (here != there || latency != other_latency) {
      return fmt::format("messages over {} links in {:.3g} us against {} links in {:.3g} us", here, latency * 1e6,
                         there, other_latency * 1e6);
    }
  }
  for (std::size_t slot = 0; slot < whole.rank_groups.size(); ++slot) {
    const std::int64_t here = group_crossings(whole, a, slot, false);
    const std::int64_t there = group_crossings(whole, b, slot, false);
    if (here != there) {
      const char* name =
          slot < graph::kGroupKinds ? graph::name_of(static_cast<graph::GroupKind>(slot)) : "recorded process";
      return fmt::format("{} group's collectives cross {} links against {}", name, here, there);
    }
  }
  return "the load on the links they use differs";
}

std::vector<std::string> explain(const Whole& whole, const Partition& partition) {
  std::vector<std::string> reasons;
  std::map<std::int32_t, std::size_t> first_of_program;
  for (const std::size_t r : representatives(partition.rank, partition.ranks)) {
    const auto [entry, is_first] = first_of_program.try_emplace(whole.kind_of_rank(r).program, r);
    if (!is_first) {
      const deployment::WholeRank& rank = whole.ranks[r];
      const deployment::WholeRank& first = whole.ranks[entry->second];
      reasons.push_back(fmt::format(
          "pipeline rank {}: replica {} tensor rank {} differs from replica {} tensor rank {}: {}", entry->first,
          rank.data, rank.tensor, first.data, first.tensor, difference(whole, entry->second, r)));
    }
  }
  return reasons;
}

}  // namespace

Folding fold(const Whole& whole) {
  if (!whole.group_messages.empty()) {
    throw error::InternalError("collectives in message form cannot be folded");
  }
  Partition partition = refine(whole);
  Folding folding;
  folding.folded = Quotient(whole, partition).build();
  folding.reasons = explain(whole, partition);
  folding.class_of_rank = std::move(partition.rank);
  folding.class_of_link = std::move(partition.link);
  return folding;
}

Folding fold(const Deployment& whole) {
  return fold(deployment::flatten(whole));
}

}  // namespace lamina::symmetry
