#include "sim/symmetry/fold.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include "sim/error/error.hpp"
#include "sim/symmetry/colours.hpp"

namespace lamina::symmetry {
namespace {

using deployment::Deployment;

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
  Quotient(const Deployment& whole, const Partition& partition) : whole_(whole), partition_(partition) {}

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
    for (const std::size_t r : representatives(partition_.rank, partition_.ranks)) {
      deployment::Rank rank = whole_.ranks[r];
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
      folded_.ranks[static_cast<std::size_t>(partition_.rank[r])].multiplicity += whole_.ranks[r].multiplicity;
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
      deployment::Group group = whole_.groups[g];
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
      deployment::Link link = whole_.links[l];
      link.multiplicity = 0;
      folded_.links.push_back(link);
    }
    for (std::size_t l = 0; l < whole_.links.size(); ++l) {
      if (partition_.link[l] >= 0) {
        folded_.links[static_cast<std::size_t>(partition_.link[l])].multiplicity += whole_.links[l].multiplicity;
      }
    }
  }

  /// A class of flows charges a link as often as its members together cross the class's representative link.
  void paths() {
    std::vector<std::map<std::int32_t, std::int32_t>> charges(static_cast<std::size_t>(partition_.paths));
    std::vector<bool> is_representative(whole_.links.size(), false);
    for (const std::size_t l : representative_link_) {
      is_representative[l] = true;
    }
    for (std::size_t p = 0; p < whole_.paths.size(); ++p) {
      for (const collectives::LinkUse& use : whole_.paths[p].links) {
        if (is_representative[static_cast<std::size_t>(use.link)]) {
          charges[static_cast<std::size_t>(partition_.path[p])][class_of(partition_.link, use.link)] += use.count;
        }
      }
    }
    const std::vector<std::size_t> members = representatives(partition_.path, partition_.paths);
    for (std::size_t c = 0; c < members.size(); ++c) {
      deployment::Path path;
      path.latency_s = whole_.paths[members[c]].latency_s;
      path.alone_s_per_byte = whole_.paths[members[c]].alone_s_per_byte;
      for (const auto& [link, count] : charges[c]) {
        path.links.push_back({link, count});
      }
      folded_.paths.push_back(std::move(path));
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

  const Deployment& whole_;
  const Partition& partition_;
  Deployment folded_;
  std::vector<std::size_t> representative_link_;
};

/// Says what tells two classes of one program apart, as far as it can be seen on the representatives themselves.
std::string difference(const Deployment& whole, const deployment::Rank& a, const deployment::Rank& b) {
  if (a.slowness != b.slowness) {
    return fmt::format("device speed factor {} against {}", a.slowness, b.slowness);
  }
  for (std::size_t c = 0; c < a.channels.size(); ++c) {
    const auto path_of = [&](const deployment::Rank& rank) -> const deployment::Path& {
      const deployment::Channel& channel = whole.channels[static_cast<std::size_t>(rank.channels[c])];
      return whole.paths[static_cast<std::size_t>(channel.path)];
    };
    if (path_of(a).links.size() != path_of(b).links.size() || path_of(a).latency_s != path_of(b).latency_s) {
      return fmt::format("messages over {} links in {:.3g} us against {} links in {:.3g} us", path_of(a).links.size(),
                         path_of(a).latency_s * 1e6, path_of(b).links.size(), path_of(b).latency_s * 1e6);
    }
  }
  for (std::size_t k = 0; k < a.groups.size(); ++k) {
    const auto size_of = [&](const deployment::Rank& rank) {
      std::size_t uses = 0;
      if (rank.groups[k] >= 0) {
        for (const auto& steps : whole.groups[static_cast<std::size_t>(rank.groups[k])].steps) {
          for (const deployment::FlowStep& step : steps) {
            uses += whole.paths[static_cast<std::size_t>(step.path)].links.size();
          }
        }
      }
      return uses;
    };
    if (size_of(a) != size_of(b)) {
      return fmt::format("{} group's collectives cross {} links against {}",
                         graph::name_of(static_cast<graph::GroupKind>(k)), size_of(a), size_of(b));
    }
  }
  return "the load on the links they use differs";
}

std::vector<std::string> explain(const Deployment& whole, const Partition& partition) {
  std::vector<std::string> reasons;
  std::map<std::int32_t, const deployment::Rank*> first_of_program;
  for (const std::size_t r : representatives(partition.rank, partition.ranks)) {
    const deployment::Rank& rank = whole.ranks[r];
    const auto [entry, is_first] = first_of_program.try_emplace(rank.program, &rank);
    if (!is_first) {
      reasons.push_back(fmt::format(
          "pipeline rank {}: replica {} tensor rank {} differs from replica {} tensor rank {}: {}", rank.program,
          rank.data, rank.tensor, entry->second->data, entry->second->tensor, difference(whole, *entry->second, rank)));
    }
  }
  return reasons;
}

}  // namespace

Folding fold(const Deployment& whole) {
  for (const deployment::Group& group : whole.groups) {
    for (const auto& messages : group.messages) {
      if (!messages.empty()) {
        throw error::InternalError("collectives in message form cannot be folded");
      }
    }
  }
  const Partition partition = refine(whole);
  Folding folding;
  folding.folded = Quotient(whole, partition).build();
  folding.class_of_rank = partition.rank;
  folding.class_of_link = partition.link;
  folding.reasons = explain(whole, partition);
  return folding;
}

}  // namespace lamina::symmetry
