#include "sim/symmetry/ripples.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/symmetry/numbering.hpp"

namespace lamina::symmetry {
namespace {

using deployment::Whole;

enum Kind : std::uint8_t { kRank, kChannel, kGroup, kPath, kLink };

constexpr std::size_t kKinds = 5;

std::size_t at(std::int32_t index) {
  return static_cast<std::size_t>(index);
}

struct Vertex {
  Kind kind = kRank;
  std::int32_t index = -1;
};

/// A vertex left class `before` for class `after`; -1: it had none.
struct Change {
  Vertex vertex;
  std::int32_t before = -1;
  std::int32_t after = -1;
};

/// Who a path belongs to, and the paths over every link: what Whole knows in the other direction only.
class Reverse {
 public:
  explicit Reverse(const Whole& whole) : owners_(whole.paths()) {
    for (std::size_t c = 0; c < whole.channels.size(); ++c) {
      own(whole.channels[c].path, {kChannel, static_cast<std::int32_t>(c)});
    }
    for (std::size_t g = 0; g < whole.groups(); ++g) {
      for (const deployment::WholeStep& step : whole.steps_of(g)) {
        own(step.flow.path, {kGroup, static_cast<std::int32_t>(g)});
      }
    }
    for (const auto* paths : {&whole.to_host, &whole.from_host}) {
      for (std::size_t r = 0; r < paths->size(); ++r) {
        own((*paths)[r], {kRank, static_cast<std::int32_t>(r)});
      }
    }
  }

  [[nodiscard]] bool is_unique() const { return is_unique_; }

  [[nodiscard]] const Vertex& owner(std::int32_t path) const { return owners_[at(path)]; }

  void list_paths(const Whole& whole, const std::vector<std::int32_t>& links) {
    begins_.assign(links.size() + 1, 0);
    for_each_use(whole, links, [this](std::size_t, std::int32_t link) { ++begins_[at(link) + 1]; });
    for (std::size_t l = 0; l + 1 < begins_.size(); ++l) {
      begins_[l + 1] += begins_[l];
    }
    crossings_.resize(begins_.back());
    std::vector<std::uint32_t> next(begins_.begin(), begins_.end() - 1);
    for_each_use(whole, links, [&](std::size_t path, std::int32_t link) {
      crossings_[next[at(link)]++] = static_cast<std::int32_t>(path);
    });
  }

  template <class Visit>
  void for_each_path(std::int32_t link, Visit visit) const {
    for (std::uint32_t i = begins_[at(link)]; i < begins_[at(link) + 1]; ++i) {
      visit(crossings_[i]);
    }
  }

 private:
  void own(std::int32_t path, Vertex owner) {
    if (path >= 0) {
      is_unique_ = is_unique_ && owners_[at(path)].index < 0;
      owners_[at(path)] = owner;
    }
  }

  template <class Visit>
  static void for_each_use(const Whole& whole, const std::vector<std::int32_t>& links, Visit visit) {
    for (std::size_t p = 0; p < whole.paths(); ++p) {
      whole.for_each_use(p, [&](std::int32_t link, std::int32_t count) {
        for (std::int32_t i = 0; i < count && links[at(link)] >= 0; ++i) {
          visit(p, link);
        }
      });
    }
  }

  std::vector<Vertex> owners_;
  bool is_unique_ = true;
  std::vector<std::uint32_t> begins_;
  std::vector<std::int32_t> crossings_;  ///< paths, one as often as it crosses the link
};

/// The colour of a vertex is the sum over its neighbours of a random number for (how it sees the neighbour, the
/// neighbour's class). Members of a class had equal colours before the changes at hand, so what the changes add to
/// their colours tells them apart.
class Ripples {
 public:
  Ripples(const Whole& whole, const Reverse& reverse, Partition& partition)
      : whole_(whole),
        reverse_(reverse),
        classes_{&partition.rank, &partition.channel, &partition.group, &partition.path, &partition.link},
        counts_{&partition.ranks, &partition.channels, &partition.groups, &partition.paths, &partition.links} {
    for (std::size_t kind = 0; kind < kKinds; ++kind) {
      added_[kind].assign(classes_[kind]->size(), 0);
      is_touched_[kind].assign(classes_[kind]->size(), false);
      sizes_[kind].assign(at(*counts_[kind]), 0);
      for (std::size_t i = 0; i < classes_[kind]->size(); ++i) {
        const std::int32_t number = (*classes_[kind])[i];
        if (number >= 0) {
          ++sizes_[kind][at(number)];
        }
      }
    }
  }

  void run() {
    for (std::size_t kind = 0; kind < kKinds; ++kind) {
      for (std::size_t i = 0; i < classes_[kind]->size(); ++i) {
        if ((*classes_[kind])[i] >= 0) {
          tell_neighbours({{static_cast<Kind>(kind), static_cast<std::int32_t>(i)}, -1, (*classes_[kind])[i]});
        }
      }
    }
    split();
    while (!changes_.empty()) {
      for (const Change& change : changes_) {
        tell_neighbours(change);
      }
      changes_.clear();
      split();
    }
  }

 private:
  /// What a neighbour sees: `way` is the neighbour's view of the changed vertex.
  static std::uint64_t difference(const Change& change, std::uint64_t way) {
    const std::uint64_t salt = mix(way * kKinds + change.vertex.kind);
    const std::uint64_t before = change.before < 0 ? 0 : join(salt, static_cast<std::uint64_t>(change.before));
    return join(salt, static_cast<std::uint64_t>(change.after)) - before;
  }

  void add(Kind kind, std::int32_t index, std::uint64_t value) {
    added_[kind][at(index)] += value;
    if (!is_touched_[kind][at(index)]) {
      is_touched_[kind][at(index)] = true;
      touched_[kind].push_back(index);
    }
  }

  void tell_neighbours(const Change& change) {
    switch (change.vertex.kind) {
      case kRank:
        return tell_neighbours_of_rank(change);
      case kChannel:
        return tell_neighbours_of_channel(change);
      case kGroup:
        return tell_neighbours_of_group(change);
      case kPath:
        return tell_neighbours_of_path(change);
      case kLink:
        reverse_.for_each_path(change.vertex.index,
                               [&](std::int32_t path) { add(kPath, path, difference(change, 0)); });
    }
  }

  void tell_neighbours_of_rank(const Change& change) {
    const auto rank = at(change.vertex.index);
    for (const std::int32_t channel : whole_.channels_of(rank)) {
      if (channel >= 0) {
        add(kChannel, channel, difference(change, whole_.channels[at(channel)].sender == change.vertex.index ? 0 : 1));
      }
    }
    for (std::size_t slot = 0; slot < whole_.rank_groups.size(); ++slot) {
      if (whole_.group_of(rank, slot) >= 0) {
        add(kGroup, whole_.group_of(rank, slot), difference(change, 0));
      }
    }
    for (const bool to : {false, true}) {
      if (whole_.host_path(rank, to) >= 0) {
        add(kPath, whole_.host_path(rank, to), difference(change, to ? 1 : 0));
      }
    }
  }

  void tell_neighbours_of_channel(const Change& change) {
    const deployment::Channel& channel = whole_.channels[at(change.vertex.index)];
    for (const std::int32_t rank : {channel.sender, channel.receiver}) {
      const auto channels = whole_.channels_of(at(rank));
      const auto slot = std::find(channels.begin(), channels.end(), change.vertex.index) - channels.begin();
      add(kRank, rank, difference(change, static_cast<std::uint64_t>(slot)));
    }
    if (channel.path >= 0) {
      add(kPath, channel.path, difference(change, 0));
    }
  }

  void tell_neighbours_of_group(const Change& change) {
    const auto group = at(change.vertex.index);
    std::uint64_t slot = 0;
    const auto first = at(whole_.members_of(group).front());
    while (slot < whole_.rank_groups.size() && whole_.group_of(first, slot) != change.vertex.index) {
      ++slot;
    }
    for (const std::int32_t member : whole_.members_of(group)) {
      add(kRank, member, difference(change, slot));
    }
    std::uint64_t position = 0;
    for (const deployment::WholeStep& step : whole_.steps_of(group)) {
      add(kPath, step.flow.path, difference(change, position++));
    }
  }

  void tell_neighbours_of_path(const Change& change) {
    const Vertex& owner = reverse_.owner(change.vertex.index);
    if (owner.index >= 0) {
      add(owner.kind, owner.index, difference(change, way_of_owner(owner, change.vertex.index)));
    }
    whole_.for_each_use(at(change.vertex.index), [&](std::int32_t link, std::int32_t count) {
      if ((*classes_[kLink])[at(link)] >= 0) {
        add(kLink, link, difference(change, 0) * static_cast<std::uint64_t>(count));
      }
    });
  }

  [[nodiscard]] std::uint64_t way_of_owner(const Vertex& owner, std::int32_t path) const {
    if (owner.kind == kRank) {
      return whole_.host_path(at(owner.index), true) == path ? 1 : 0;
    }
    std::uint64_t position = 0;
    if (owner.kind == kGroup) {
      const auto steps = whole_.steps_of(at(owner.index));
      while (steps[position].flow.path != path) {
        ++position;
      }
    }
    return position;
  }

  void split() {
    for (std::size_t kind = 0; kind < kKinds; ++kind) {
      split(static_cast<Kind>(kind));
    }
  }

  /// Members of one class to whose colours the same was added.
  struct Part {
    std::int32_t former = 0;
    std::int32_t size = 0;
    std::int32_t number = 0;
  };

  void split(Kind kind) {
    std::vector<std::int32_t>& classes = *classes_[kind];
    Numbering numbering;
    std::vector<Part> parts;
    std::vector<std::int32_t> part_of;
    part_of.reserve(touched_[kind].size());
    for (const std::int32_t index : touched_[kind]) {
      std::uint64_t& added = added_[kind][at(index)];
      is_touched_[kind][at(index)] = false;
      if (added == 0) {  // as those that nothing touched
        part_of.push_back(-1);
        continue;
      }
      const std::int32_t former = classes[at(index)];
      const std::int32_t part = numbering.number_of(join(added, static_cast<std::uint64_t>(former)));
      added = 0;
      if (at(part) == parts.size()) {
        parts.push_back({former, 0, former});
      }
      ++parts[at(part)].size;
      part_of.push_back(part);
    }
    number_parts(kind, parts);
    for (std::size_t i = 0; i < part_of.size(); ++i) {
      const std::int32_t index = touched_[kind][i];
      if (part_of[i] >= 0 && parts[at(part_of[i])].number != classes[at(index)]) {
        const std::int32_t number = parts[at(part_of[i])].number;
        changes_.push_back({{kind, index}, classes[at(index)], number});
        classes[at(index)] = number;
      }
    }
    touched_[kind].clear();
  }

  /// The rest of a class keeps its number; if nothing is left of it, its largest part does.
  void number_parts(Kind kind, std::vector<Part>& parts) {
    std::vector<std::int32_t>& sizes = sizes_[kind];
    order_.resize(parts.size());
    for (std::size_t i = 0; i < parts.size(); ++i) {
      order_[i] = i;
      sizes[at(parts[i].former)] -= parts[i].size;
    }
    std::stable_sort(order_.begin(), order_.end(),
                     [&parts](std::size_t a, std::size_t b) { return parts[a].size > parts[b].size; });
    for (const std::size_t i : order_) {
      Part& part = parts[i];
      if (sizes[at(part.former)] == 0) {
        sizes[at(part.former)] = part.size;
      } else {
        part.number = (*counts_[kind])++;
        sizes.push_back(part.size);
      }
    }
  }

  const Whole& whole_;
  const Reverse& reverse_;
  std::array<std::vector<std::int32_t>*, kKinds> classes_;
  std::array<std::int32_t*, kKinds> counts_;
  std::array<std::vector<std::int32_t>, kKinds> sizes_;  ///< [kind][class] members
  std::array<std::vector<std::uint64_t>, kKinds> added_;
  std::array<std::vector<bool>, kKinds> is_touched_;
  std::array<std::vector<std::int32_t>, kKinds> touched_;
  std::vector<Change> changes_;
  std::vector<std::size_t> order_;
};

}  // namespace

void refine_by_ripples(const Whole& whole, Partition& partition) {
  Reverse reverse(whole);
  if (reverse.is_unique()) {
    reverse.list_paths(whole, partition.link);
    Ripples(whole, reverse, partition).run();
  }
}

}  // namespace lamina::symmetry
