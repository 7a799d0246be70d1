// The classes of colour refinement against brute force: all permutations of up to seven ranks are tried, those that
// induce an automorphism of the structure of docs/folding.md give the true orbits, and an orbit must lie in one class.
// Conversely the partition is checked to be equitable by counting, without hashes.
#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <tuple>

#include <gtest/gtest.h>

#include "sim/deployment/whole.hpp"
#include "sim/symmetry/colours.hpp"
#include "sim/symmetry/ripples.hpp"

namespace lamina::symmetry {
namespace {

using deployment::Deployment;

using Permutation = std::vector<std::int32_t>;

std::size_t at(std::int32_t index) {
  return static_cast<std::size_t>(index);
}

/// Ranks around a circle: channels of fixed offsets over the sender's (and its neighbours') up link and the receiver's
/// down link, groups of consecutive ranks, host copies, one trunk for all. Then `asymmetries` things are made
/// different.
class Circle {
 public:
  Circle(std::mt19937& random, int ranks, int asymmetries)
      : share(1 + std::uniform_int_distribution<int>(0, 2)(random)), random_(random), ranks_(ranks) {
    deployment.total_ranks = ranks;
    for (int r = 0; r < 2 * ranks + 1; ++r) {
      deployment::Link& link = deployment.links.emplace_back();
      link.bandwidth = 10;
      link.never_limits = false;
    }
    deployment.links.back().never_limits = pick(2) == 0;
    deployment.ranks.resize(at(ranks));
    const int channels = 1 + pick(2);
    for (int c = 0; c < channels; ++c) {
      add_channels(1 + pick(ranks - 1));
    }
    if (pick(2) == 0) {
      add_groups();
    }
    if (pick(2) == 0) {
      add_host_copies();
    }
    for (int i = 0; i < asymmetries; ++i) {
      disturb();
    }
  }

  Deployment deployment;
  int share;  ///< ranks behind one up link; the last link may have fewer, which only its load tells

 private:
  int pick(int choices) { return std::uniform_int_distribution<int>(0, choices - 1)(random_); }

  std::int32_t add_path(std::vector<collectives::LinkUse> links) {
    deployment.paths.push_back({std::move(links), 1e-6, 0.1});
    return static_cast<std::int32_t>(deployment.paths.size()) - 1;
  }

  void add_channels(int offset) {
    const bool trunk = pick(2) == 0;
    for (deployment::Rank& rank : deployment.ranks) {
      rank.channels.resize(rank.channels.size() + 2, -1);  // one to send, one to receive
    }
    for (int r = 0; r < ranks_; ++r) {
      const int to = (r + offset) % ranks_;
      std::vector<collectives::LinkUse> uses = {{r / share, 1}, {ranks_ + to, 1}};
      if (trunk) {
        uses.push_back({2 * ranks_, 1});
      }
      const auto id = static_cast<std::int32_t>(deployment.channels.size());
      deployment.channels.push_back({r, to, add_path(uses)});
      auto& sender = deployment.ranks[at(r)].channels;
      auto& receiver = deployment.ranks[at(to)].channels;
      sender[sender.size() - 2] = id;
      receiver[receiver.size() - 1] = id;
    }
  }

  void add_groups() {
    const int size = ranks_ % 3 == 0 ? 3 : ranks_ % 2 == 0 ? 2 : ranks_;
    for (int first = 0; first < ranks_; first += size) {
      deployment::Group group;
      group.size = size;
      std::vector<collectives::LinkUse> uses;
      for (int r = first; r < first + size; ++r) {
        group.members.push_back(r);
        uses.push_back({r, 2});
        uses.push_back({ranks_ + r, 2});
        deployment.ranks[at(r)].groups[0] = static_cast<std::int32_t>(deployment.groups.size());
      }
      group.steps[0] = {{add_path(uses), 1.5}};
      deployment.groups.push_back(group);
    }
  }

  void add_host_copies() {
    for (int r = 0; r < ranks_; ++r) {
      deployment::Link& link = deployment.links.emplace_back();
      link.link_class = fabric::LinkClass::kHostPath;
      link.bandwidth = 5;
      deployment.ranks[at(r)].to_host = add_path({{static_cast<std::int32_t>(deployment.links.size()) - 1, 1}});
    }
  }

  void disturb() {
    const auto rank = at(pick(ranks_));
    switch (pick(5)) {
      case 0:
        deployment.ranks[rank].slowness = 1.5;
        break;
      case 1:
        deployment.ranks[rank].host_delay_s = 1e-3;
        break;
      case 2:
        deployment.links[rank].bandwidth = 8;
        break;
      case 3:
        deployment.ranks[rank].program = 1;
        break;
      default:
        deployment.paths[rank].latency_s = 2e-6;
        break;
    }
  }

  std::mt19937& random_;
  int ranks_;
};

/// What a permutation of the ranks does to everything else; nothing if it is no automorphism.
class Image {
 public:
  static std::optional<Image> of(const Deployment& deployment, const Permutation& ranks) {
    Image image;
    image.rank = ranks;
    image.channel.assign(deployment.channels.size(), -1);
    image.group.assign(deployment.groups.size(), -1);
    image.path.assign(deployment.paths.size(), -1);
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      if (!image.map_rank(deployment, deployment.ranks[r], deployment.ranks[at(ranks[r])])) {
        return std::nullopt;
      }
    }
    if (!image.map_owners(deployment) || !image.keeps_links(deployment)) {
      return std::nullopt;
    }
    return image;
  }

  Permutation rank, channel, group, path;

 private:
  /// Notes that `from` goes to `to`; false if it went elsewhere already.
  static bool note(Permutation& map, std::int32_t from, std::int32_t to) {
    if (from < 0 || to < 0) {
      return from == to;
    }
    std::int32_t& known = map[at(from)];
    const bool fits = known == -1 || known == to;
    known = to;
    return fits;
  }

  bool map_rank(const Deployment&, const deployment::Rank& from, const deployment::Rank& to) {
    bool fits = std::tie(from.program, from.slowness, from.host_delay_s) ==
                    std::tie(to.program, to.slowness, to.host_delay_s) &&
                from.channels.size() == to.channels.size();
    for (std::size_t c = 0; fits && c < from.channels.size(); ++c) {
      fits = note(channel, from.channels[c], to.channels[c]);
    }
    for (std::size_t g = 0; fits && g < from.groups.size(); ++g) {
      fits = note(group, from.groups[g], to.groups[g]);
    }
    return fits && note(path, from.to_host, to.to_host) && note(path, from.from_host, to.from_host);
  }

  bool map_owners(const Deployment& deployment) {
    bool fits = true;
    for (std::size_t c = 0; fits && c < channel.size(); ++c) {
      const deployment::Channel& from = deployment.channels[c];
      const deployment::Channel& to = deployment.channels[at(channel[c])];
      fits = rank[at(from.sender)] == to.sender && rank[at(from.receiver)] == to.receiver &&
             note(path, from.path, to.path);
    }
    for (std::size_t g = 0; fits && g < group.size(); ++g) {
      const deployment::Group& from = deployment.groups[g];
      const deployment::Group& to = deployment.groups[at(group[g])];
      std::vector<std::int32_t> members;
      for (const std::int32_t member : from.members) {
        members.push_back(rank[at(member)]);
      }
      std::sort(members.begin(), members.end());
      fits = members == to.members && note(path, from.steps[0][0].path, to.steps[0][0].path);
    }
    for (std::size_t p = 0; fits && p < path.size(); ++p) {
      fits = deployment.paths[p].latency_s == deployment.paths[at(path[p])].latency_s;
    }
    return fits;
  }

  /// Links can be permuted to fit if equally many of each kind are crossed by the images as by the paths themselves.
  [[nodiscard]] bool keeps_links(const Deployment& deployment) const {
    Permutation identity(path.size());
    std::iota(identity.begin(), identity.end(), 0);
    return crossed(deployment, identity) == crossed(deployment, path);
  }

  using Crossed = std::vector<std::pair<double, std::map<std::int32_t, std::int32_t>>>;

  static Crossed crossed(const Deployment& deployment, const Permutation& name) {
    Crossed result;
    for (const deployment::Link& link : deployment.links) {
      result.push_back({link.never_limits ? -link.bandwidth : link.bandwidth, {}});
    }
    for (std::size_t p = 0; p < name.size(); ++p) {
      for (const collectives::LinkUse& use : deployment.paths[p].links) {
        result[at(use.link)].second[name[p]] += use.count;
      }
    }
    std::sort(result.begin(), result.end());
    return result;
  }
};

void expect_one_class(const Permutation& image, const std::vector<std::int32_t>& classes, const char* what) {
  for (std::size_t i = 0; i < image.size(); ++i) {
    EXPECT_EQ(classes[i], classes[at(image[i])]) << what << " " << i << " and " << image[i] << " are symmetric";
  }
}

/// All members of a class must have one value.
template <class Value>
void expect_constant(const std::vector<std::int32_t>& classes, Value value_of, const char* what) {
  std::map<std::int32_t, decltype(value_of(std::size_t{0}))> first;
  for (std::size_t i = 0; i < classes.size(); ++i) {
    if (classes[i] >= 0) {
      const auto value = value_of(i);
      EXPECT_EQ(first.try_emplace(classes[i], value).first->second, value) << what << " " << i;
    }
  }
}

void expect_equitable(const Deployment& deployment, const Partition& partition) {
  const auto class_of = [](const std::vector<std::int32_t>& classes, std::int32_t index) {
    return index < 0 ? -1 : classes[at(index)];
  };
  expect_constant(
      partition.rank,
      [&](std::size_t r) {
        const deployment::Rank& rank = deployment.ranks[r];
        std::vector<std::int32_t> seen = {class_of(partition.path, rank.to_host)};
        for (const std::int32_t channel : rank.channels) {
          seen.push_back(class_of(partition.channel, channel));
        }
        for (const std::int32_t group : rank.groups) {
          seen.push_back(class_of(partition.group, group));
        }
        return std::tuple(rank.program, rank.slowness, rank.host_delay_s, seen);
      },
      "rank");
  expect_constant(
      partition.channel,
      [&](std::size_t c) {
        const deployment::Channel& channel = deployment.channels[c];
        return std::tuple(class_of(partition.rank, channel.sender), class_of(partition.rank, channel.receiver),
                          class_of(partition.path, channel.path));
      },
      "channel");
  expect_constant(
      partition.group,
      [&](std::size_t g) {
        std::multiset<std::int32_t> members;
        for (const std::int32_t member : deployment.groups[g].members) {
          members.insert(class_of(partition.rank, member));
        }
        return std::tuple(members, class_of(partition.path, deployment.groups[g].steps[0][0].path));
      },
      "group");
  std::vector<std::map<std::int32_t, std::int32_t>> links_of_path(deployment.paths.size());
  std::vector<std::map<std::int32_t, std::int32_t>> paths_of_link(deployment.links.size());
  for (std::size_t p = 0; p < deployment.paths.size(); ++p) {
    for (const collectives::LinkUse& use : deployment.paths[p].links) {
      paths_of_link[at(use.link)][partition.path[p]] += use.count;
      if (!deployment.links[at(use.link)].never_limits) {
        links_of_path[p][partition.link[at(use.link)]] += use.count;
      }
    }
  }
  expect_constant(
      partition.path, [&](std::size_t p) { return std::tuple(deployment.paths[p].latency_s, links_of_path[p]); },
      "path");
  expect_constant(
      partition.link,
      [&](std::size_t l) {
        return std::tuple(deployment.links[l].bandwidth, deployment.links[l].never_limits, paths_of_link[l]);
      },
      "link");
}

class RandomCircle : public ::testing::TestWithParam<unsigned> {};

TEST_P(RandomCircle, SymmetricRanksShareAClassAndClassesAreEquitable) {
  std::mt19937 random(GetParam());
  const int ranks = std::uniform_int_distribution<int>(2, 7)(random);
  const int asymmetries = std::uniform_int_distribution<int>(0, 2)(random);
  const Circle circle(random, ranks, asymmetries);
  const Deployment& deployment = circle.deployment;
  const Partition partition = refine(deployment::flatten(deployment));
  expect_equitable(deployment, partition);
  Permutation permutation(at(ranks));
  std::iota(permutation.begin(), permutation.end(), 0);
  int automorphisms = 0;
  do {
    if (const auto image = Image::of(deployment, permutation)) {
      ++automorphisms;
      expect_one_class(image->rank, partition.rank, "rank");
      expect_one_class(image->channel, partition.channel, "channel");
      expect_one_class(image->group, partition.group, "group");
      expect_one_class(image->path, partition.path, "path");
    }
  } while (std::next_permutation(permutation.begin(), permutation.end()));
  EXPECT_GE(automorphisms, 1) << "the identity";
  if (asymmetries == 0 && deployment.groups.empty() && circle.share == 1) {
    EXPECT_GE(automorphisms, ranks) << "rotations";
    EXPECT_EQ(partition.ranks, 1);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomCircle, ::testing::Range(1U, 61U));

/// Classes of labels alone, as refinement starts from them.
Partition labels(const deployment::Whole& whole) {
  Partition partition;
  for (const deployment::WholeRank& rank : whole.ranks) {
    partition.rank.push_back(rank.kind);
  }
  partition.ranks = static_cast<std::int32_t>(whole.rank_kinds.values().size());
  partition.path = whole.path_kinds;
  partition.paths = static_cast<std::int32_t>(whole.kinds_of_paths.values().size());
  for (std::size_t l = 0; l < whole.link_kinds.size(); ++l) {
    partition.link.push_back(whole.kind_of_link(static_cast<fabric::LinkId>(l)).never_limits ? -1
                                                                                             : whole.link_kinds[l]);
  }
  partition.links = static_cast<std::int32_t>(whole.kinds_of_links.values().size());
  for (std::size_t c = 0; c < whole.channels.size(); ++c) {
    const auto slots = whole.channels_of(at(whole.channels[c].sender));
    const auto slot = std::find(slots.begin(), slots.end(), static_cast<std::int32_t>(c)) - slots.begin();
    partition.channel.push_back(static_cast<std::int32_t>(slot));
    partition.channels = std::max(partition.channels, static_cast<std::int32_t>(slot) + 1);
  }
  partition.group.assign(whole.groups(), 0);
  partition.groups = 1;
  return partition;
}

/// Whether two numberings have the same classes.
void expect_same_classes(const std::vector<std::int32_t>& a, const std::vector<std::int32_t>& b, const char* what) {
  std::map<std::int32_t, std::int32_t> forth;
  std::map<std::int32_t, std::int32_t> back;
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(forth.try_emplace(a[i], b[i]).first->second, b[i]) << what << " " << i;
    EXPECT_EQ(back.try_emplace(b[i], a[i]).first->second, a[i]) << what << " " << i;
  }
}

TEST_P(RandomCircle, RipplesFindTheClassesOfPlainRounds) {
  std::mt19937 random(GetParam());
  const int asymmetries = std::uniform_int_distribution<int>(0, 3)(random);
  const Deployment deployment = Circle(random, 12, asymmetries).deployment;
  const deployment::Whole whole = deployment::flatten(deployment);
  const Partition expected = refine(whole);
  Partition actual = labels(whole);
  refine_by_ripples(whole, actual);
  expect_same_classes(expected.rank, actual.rank, "rank");
  expect_same_classes(expected.channel, actual.channel, "channel");
  expect_same_classes(expected.group, actual.group, "group");
  expect_same_classes(expected.path, actual.path, "path");
}

/// In a directed circle with one slow rank only the identity is an automorphism, and the difference has to travel all
/// the way round.
TEST(ColourRefinement, FollowsADifferenceAroundALongCircle) {
  constexpr std::int32_t kRanks = 5000;
  Deployment deployment;
  deployment.links.resize(kRanks);
  deployment.ranks.resize(kRanks);
  for (std::int32_t r = 0; r < kRanks; ++r) {
    deployment.links[at(r)].bandwidth = 1;
    deployment.paths.push_back({{{r, 1}}, 1e-6, 1});
    deployment.channels.push_back({r, (r + 1) % kRanks, r});
    deployment.ranks[at(r)].channels = {r, (r + kRanks - 1) % kRanks};
  }
  EXPECT_EQ(refine(deployment::flatten(deployment)).ranks, 1);
  deployment.ranks[1234].slowness = 2;
  const Partition partition = refine(deployment::flatten(deployment));
  EXPECT_EQ(partition.ranks, kRanks);
  EXPECT_EQ(partition.links, kRanks);
}

TEST(ColourRefinement, ToldApartByDistanceFromTheOneSlowRank) {
  std::mt19937 random(7);
  for (const int ranks : {5, 6, 7}) {
    Deployment deployment = Circle(random, ranks, 0).deployment;
    for (deployment::Rank& rank : deployment.ranks) {
      rank.groups[0] = -1;
    }
    deployment.groups.clear();
    deployment.ranks[2].slowness = 3;
    const Partition partition = refine(deployment::flatten(deployment));
    EXPECT_EQ(std::count(partition.rank.begin(), partition.rank.end(), partition.rank[2]), 1);
    EXPECT_GE(partition.ranks, 2);
  }
}

TEST(ColourRefinement, LeavesUnusedLinksWithoutAClass) {
  std::mt19937 random(3);
  Deployment deployment = Circle(random, 4, 0).deployment;
  deployment.links.emplace_back();
  const Partition partition = refine(deployment::flatten(deployment));
  EXPECT_EQ(partition.link.back(), -1);
  EXPECT_GE(partition.link.front(), 0);
}

TEST(FlatDeployment, ExpandsToWhatWasFlattened) {
  std::mt19937 random(11);
  for (int i = 0; i < 20; ++i) {
    const Deployment before = Circle(random, 6, 2).deployment;
    const Deployment after = deployment::expand(deployment::flatten(before));
    ASSERT_EQ(after.ranks.size(), before.ranks.size());
    for (std::size_t r = 0; r < before.ranks.size(); ++r) {
      EXPECT_EQ(after.ranks[r].channels, before.ranks[r].channels);
      EXPECT_EQ(after.ranks[r].groups, before.ranks[r].groups);
      EXPECT_EQ(after.ranks[r].slowness, before.ranks[r].slowness);
      EXPECT_EQ(after.ranks[r].host_delay_s, before.ranks[r].host_delay_s);
      EXPECT_EQ(after.ranks[r].to_host, before.ranks[r].to_host);
    }
    ASSERT_EQ(after.paths.size(), before.paths.size());
    for (std::size_t p = 0; p < before.paths.size(); ++p) {
      EXPECT_EQ(after.paths[p].links, before.paths[p].links);
      EXPECT_EQ(after.paths[p].latency_s, before.paths[p].latency_s);
    }
    ASSERT_EQ(after.groups.size(), before.groups.size());
    for (std::size_t g = 0; g < before.groups.size(); ++g) {
      EXPECT_EQ(after.groups[g].members, before.groups[g].members);
      EXPECT_EQ(after.groups[g].steps[0][0].path, before.groups[g].steps[0][0].path);
    }
    ASSERT_EQ(after.links.size(), before.links.size());
    for (std::size_t l = 0; l < before.links.size(); ++l) {
      EXPECT_EQ(after.links[l].bandwidth, before.links[l].bandwidth);
      EXPECT_EQ(after.links[l].never_limits, before.links[l].never_limits);
    }
  }
}

}  // namespace
}  // namespace lamina::symmetry
