#include "sim/symmetry/colours.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "sim/error/error.hpp"
#include "sim/fabric/large_pages.hpp"
#include "sim/symmetry/numbering.hpp"
#include "sim/symmetry/ripples.hpp"

namespace lamina::symmetry {
namespace {

using deployment::Whole;

using Classes = std::vector<std::int32_t>;
using Sums = std::vector<std::uint64_t>;

/// Class of links that are left out of the refinement: unused, or unable to limit a flow.
constexpr std::int32_t kLeftOut = -1;

std::size_t at(std::int32_t index) {
  return static_cast<std::size_t>(index);
}

/// A random number for every class of one kind, under the hash of one round.
class Colours {
 public:
  Colours(std::int32_t count, std::uint64_t seed) {
    colours_.reserve(at(count) + 1);
    for (std::int32_t c = -1; c < count; ++c) {
      colours_.push_back(join(seed, static_cast<std::uint64_t>(c + 1)));
    }
  }

  /// -1 is a class of its own: "there is none".
  std::uint64_t operator[](std::int32_t number) const { return colours_[static_cast<std::size_t>(number + 1)]; }

 private:
  std::vector<std::uint64_t> colours_;
};

/// Splits classes by `key_of(index)` and renumbers them by first member. Members of class kLeftOut stay where they are.
template <class Key>
std::int32_t split(Classes& classes, const Colours& colours, Key key_of) {
  Numbering numbering;
  for (std::size_t i = 0; i < classes.size(); ++i) {
    if (classes[i] != kLeftOut) {
      classes[i] = numbering.number_of(join(colours[classes[i]], key_of(i)));
    }
  }
  return numbering.count();
}

/// One partition, refined in place: every step splits one kind of vertex by the classes of what it touches, as they are
/// by then. Sums over hashes are order-free fingerprints of multisets.
class Refinement {
 public:
  explicit Refinement(const Whole& whole) : whole_(whole) {
    fabric::reserve_large(sums_, std::max(whole.link_kinds.size(), whole.paths()));
    seed();
  }

  Partition run() {
    constexpr int kHashes = 2;
    constexpr std::uint64_t kPlainRounds = 4;
    int unchanged = 0;
    for (std::uint64_t round = 0; unchanged < kHashes; ++round) {
      const std::int64_t before = size();
      refine(mix(round));
      // Kinds may be unused, so the first round's count says nothing.
      unchanged = round > 0 && size() == before ? unchanged + 1 : 0;
      if (round == kPlainRounds && unchanged == 0) {
        refine_by_ripples(whole_, classes_);
      }
    }
    number_links();
    return std::move(classes_);
  }

 private:
  [[nodiscard]] std::int64_t size() const {
    return std::int64_t{classes_.ranks} + classes_.channels + classes_.groups + classes_.paths + classes_.links;
  }

  /// Labels: what things are, before it matters what they touch.
  void seed() {
    classes_.ranks = static_cast<std::int32_t>(whole_.rank_kinds.values().size());
    fabric::reserve_large(classes_.rank, whole_.ranks.size());
    for (const deployment::WholeRank& rank : whole_.ranks) {
      classes_.rank.push_back(rank.kind);
    }
    classes_.paths = static_cast<std::int32_t>(whole_.kinds_of_paths.values().size());
    fabric::reserve_large(classes_.path, whole_.paths());
    classes_.path = whole_.path_kinds;
    seed_links();
    seed_channels();
    seed_groups();
  }

  void seed_links() {
    const auto& kinds = whole_.kinds_of_links.values();
    classes_.links = static_cast<std::int32_t>(kinds.size());
    fabric::reserve_large(classes_.link, whole_.link_kinds.size());
    for (const std::int32_t kind : whole_.link_kinds) {
      classes_.link.push_back(kinds[at(kind)].never_limits ? kLeftOut : kind);
    }
  }

  /// Two channels between the same ranks (forward and backward) are told apart by what the sender uses them for.
  void seed_channels() {
    fabric::reserve_large(classes_.channel, whole_.channels.size());
    classes_.channel.assign(whole_.channels.size(), 0);
    for (std::size_t r = 0; r < whole_.ranks.size(); ++r) {
      const auto channels = whole_.channels_of(r);
      for (std::size_t c = 0; c < channels.size(); ++c) {
        if (channels[c] >= 0 && at(whole_.channels[at(channels[c])].sender) == r) {
          classes_.channel[at(channels[c])] = static_cast<std::int32_t>(c);
          classes_.channels = std::max(classes_.channels, static_cast<std::int32_t>(c) + 1);
        }
      }
    }
  }

  /// Two groups of the same members (tensor and data) are told apart by the slot in which one of them has it.
  void seed_groups() {
    classes_.group.assign(whole_.groups(), 0);
    classes_.groups = static_cast<std::int32_t>(whole_.rank_groups.size());
    for (std::size_t g = 0; g < whole_.groups(); ++g) {
      const auto first = at(whole_.members_of(g).front());
      for (std::size_t slot = 0; slot < whole_.rank_groups.size(); ++slot) {
        if (at(whole_.group_of(first, slot)) == g) {
          classes_.group[g] = static_cast<std::int32_t>(slot);
        }
      }
    }
  }

  void refine(std::uint64_t seed) {
    split_channels(seed);
    split_groups(seed);
    split_paths_by_owner(seed);
    split_links(seed);
    split_paths_by_links(seed);
    split_ranks(seed);
  }

  void split_channels(std::uint64_t seed) {
    const Colours ranks(classes_.ranks, seed + 1);
    const Colours paths(classes_.paths, seed + 2);
    classes_.channels = split(classes_.channel, Colours(classes_.channels, seed), [&](std::size_t c) {
      const deployment::Channel& channel = whole_.channels[c];
      return join(ranks[class_of(classes_.rank, channel.sender)],
                  join(ranks[class_of(classes_.rank, channel.receiver)], paths[class_of(classes_.path, channel.path)]));
    });
  }

  void split_groups(std::uint64_t seed) {
    const Colours ranks(classes_.ranks, seed + 1);
    const Colours paths(classes_.paths, seed + 2);
    classes_.groups = split(classes_.group, Colours(classes_.groups, seed), [&](std::size_t g) {
      auto key = static_cast<std::uint64_t>(whole_.group_sizes[g]);
      for (const std::int32_t member : whole_.members_of(g)) {
        key += ranks[class_of(classes_.rank, member)];
      }
      for (const deployment::WholeStep& step : whole_.steps_of(g)) {
        const std::uint64_t pace = join(bits(step.flow.bytes_per_payload), bits(step.flow.pace));
        key = join(key, join(paths[class_of(classes_.path, step.flow.path)],
                             join(pace, static_cast<std::uint64_t>(step.collective))));
      }
      return key;
    });
  }

  void split_paths_by_owner(std::uint64_t seed) {
    const Colours ranks(classes_.ranks, seed + 1);
    const Colours channels(classes_.channels, seed + 2);
    const Colours groups(classes_.groups, seed + 3);
    sums_.assign(whole_.paths(), 0);
    const auto add = [this](std::int32_t path, std::uint64_t owner) {
      if (path >= 0) {
        sums_[at(path)] += owner;
      }
    };
    for (std::size_t c = 0; c < whole_.channels.size(); ++c) {
      add(whole_.channels[c].path, channels[classes_.channel[c]]);
    }
    for (std::size_t g = 0; g < whole_.groups(); ++g) {
      std::uint64_t position = 0;
      for (const deployment::WholeStep& step : whole_.steps_of(g)) {
        add(step.flow.path, join(groups[classes_.group[g]], position++));
      }
    }
    for (const bool to : {false, true}) {
      const Classes& paths = to ? whole_.to_host : whole_.from_host;
      for (std::size_t r = 0; r < paths.size(); ++r) {
        add(paths[r], join(ranks[classes_.rank[r]], to ? 1 : 0));
      }
    }
    classes_.paths = split(classes_.path, Colours(classes_.paths, seed), [&](std::size_t p) { return sums_[p]; });
  }

  /// Sets sums_[link] to the sum over its crossings; without `all` only for links that split paths.
  void sum_crossings(std::uint64_t seed, bool all) {
    const Colours paths(classes_.paths, seed);
    sums_.assign(whole_.link_kinds.size(), 0);
    for (std::size_t p = 0; p < whole_.paths(); ++p) {
      const std::uint64_t colour = paths[classes_.path[p]];
      whole_.for_each_use(p, [&](std::int32_t link, std::int32_t count) {
        if (all || classes_.link[at(link)] != kLeftOut) {
          sums_[at(link)] += colour * static_cast<std::uint64_t>(count);
        }
      });
    }
  }

  void split_links(std::uint64_t seed) {
    sum_crossings(seed + 1, false);
    classes_.links = split(classes_.link, Colours(classes_.links, seed), [&](std::size_t l) { return sums_[l]; });
  }

  void split_paths_by_links(std::uint64_t seed) {
    const Colours links(classes_.links, seed + 1);
    classes_.paths = split(classes_.path, Colours(classes_.paths, seed), [&](std::size_t p) {
      std::uint64_t sum = 0;
      whole_.for_each_use(p, [&](std::int32_t link, std::int32_t count) {
        const std::int32_t number = classes_.link[at(link)];
        sum += number == kLeftOut ? 0 : join(links[number], static_cast<std::uint64_t>(count));
      });
      return sum;
    });
  }

  void split_ranks(std::uint64_t seed) {
    const Colours channels(classes_.channels, seed + 1);
    const Colours groups(classes_.groups, seed + 2);
    const Colours paths(classes_.paths, seed + 3);
    classes_.ranks = split(classes_.rank, Colours(classes_.ranks, seed), [&](std::size_t r) {
      std::uint64_t key = 0;
      for (const std::int32_t channel : whole_.channels_of(r)) {
        key = join(key, channels[class_of(classes_.channel, channel)]);
      }
      for (std::size_t slot = 0; slot < whole_.rank_groups.size(); ++slot) {
        if (!whole_.rank_groups[slot].empty()) {
          key = join(key, groups[class_of(classes_.group, whole_.group_of(r, slot))]);
        }
      }
      for (const bool to : {false, true}) {
        key = join(key, paths[class_of(classes_.path, whole_.host_path(r, to))]);
      }
      return key;
    });
  }

  static std::int32_t class_of(const Classes& classes, std::int32_t index) {
    return index < 0 ? -1 : classes[at(index)];
  }

  /// Numbers all links that some path crosses and hands visit(link, number) to the caller, -1 for the others; returns
  /// how many numbers there are. Links that never limit a flow split nothing, but their bytes are counted: their
  /// classes are those of equal crossings.
  template <class Visit>
  std::int32_t number_links(std::uint64_t seed, Visit visit) {
    sum_crossings(seed + 1, true);
    const Colours limiting(classes_.links, seed + 2);
    Numbering numbering;
    for (std::size_t l = 0; l < sums_.size(); ++l) {
      const std::int32_t number = classes_.link[l];
      const std::uint64_t label =
          number == kLeftOut ? mix(static_cast<std::uint64_t>(whole_.link_kinds[l])) + seed : limiting[number];
      visit(l, sums_[l] == 0 ? -1 : numbering.number_of(join(label, sums_[l])));
    }
    return numbering.count();
  }

  void number_links() {
    Classes numbers;
    fabric::reserve_large(numbers, classes_.link.size());
    numbers.resize(classes_.link.size());
    bool same = true;
    const std::int32_t count = number_links(mix(0x66U), [&](std::size_t l, std::int32_t n) { numbers[l] = n; });
    const std::int32_t again =
        number_links(mix(0x67U), [&](std::size_t l, std::int32_t n) { same = same && numbers[l] == n; });
    if (!same || again != count) {
      throw error::InternalError("folding: two different links got one colour");
    }
    classes_.link = std::move(numbers);
    classes_.links = count;
  }

  const Whole& whole_;
  Partition classes_;
  Sums sums_;  ///< of the step at hand; one buffer for all, new pages cost more than the sums
};

}  // namespace

Partition refine(const Whole& whole) {
  return Refinement(whole).run();
}

}  // namespace lamina::symmetry
