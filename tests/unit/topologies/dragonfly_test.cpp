#include <algorithm>
#include <chrono>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/contract/topologies/clusters.hpp"
#include "topologies/topology.hpp"

namespace lamina::topologies {
namespace {

/// p, a, h of Kim et al., ISCA 2008.
struct Parameters {
  int p = 2;
  int a = 4;
  int h = 2;
  double local = 1;
  double global = 1;
  double global_latency = 0;
};

tl::expected<fabric::Fabric, error::Infeasible> try_build(int terminals, const Parameters& values) {
  const auto catalog = builtin_topologies();
  const auto* entry = catalog.find("dragonfly");
  scenario::Cluster cluster = testing::make_cluster({.nodes = terminals, .devices = 1, .domain = 1, .nics = 1});
  cluster.topology = testing::choose(entry->info);
  catalog::Parameters& parameters = cluster.topology.parameters;
  parameters.set_number("terminals_per_router", values.p);
  parameters.set_number("routers_per_group", values.a);
  parameters.set_number("global_links_per_router", values.h);
  parameters.set_number("local_bandwidth", values.local);
  parameters.set_number("global_bandwidth", values.global);
  parameters.set_number("global_latency", values.global_latency);
  return entry->implementation->build(cluster);
}

fabric::Fabric build(int terminals, const Parameters& values) {
  return try_build(terminals, values).value();
}

using Router = std::pair<int, int>;  ///< group, router

struct Hop {
  Router from;
  Router to;
  int cable = -1;  ///< -1: inside a group
};

/// What a trunk joins, read from its name.
Hop hop_of(const fabric::Fabric& fabric, fabric::LinkId link) {
  const std::string name = fabric::link_name(fabric, link);
  static const std::regex local("group (\\d+) router (\\d+) to router (\\d+)");
  static const std::regex global("group (\\d+) router (\\d+) to group (\\d+) router (\\d+) cable (\\d+)");
  std::smatch found;
  if (std::regex_match(name, found, local)) {
    return {{std::stoi(found[1]), std::stoi(found[2])}, {std::stoi(found[1]), std::stoi(found[3])}, -1};
  }
  if (std::regex_match(name, found, global)) {
    return {
        {std::stoi(found[1]), std::stoi(found[2])}, {std::stoi(found[3]), std::stoi(found[4])}, std::stoi(found[5])};
  }
  ADD_FAILURE() << name;
  return {};
}

std::vector<Hop> all_trunks(const fabric::Fabric& fabric) {
  std::vector<Hop> hops;
  for (std::size_t link = 0; link < fabric.links.size(); ++link) {
    if (fabric.links[link].link_class == fabric::LinkClass::kTrunk) {
      hops.push_back(hop_of(fabric, static_cast<fabric::LinkId>(link)));
    }
  }
  return hops;
}

/// Hops of a route between two terminals, without the ports' own links.
std::vector<Hop> hops_between(const fabric::Fabric& fabric, int from, int to) {
  const fabric::Route route = fabric::route(fabric, from, to);
  std::vector<Hop> hops;
  for (std::size_t i = 1; i + 1 < route.links.size(); ++i) {
    hops.push_back(hop_of(fabric, route.links[i]));
  }
  return hops;
}

Router router_of(int terminal, const Parameters& values) {
  return {terminal / values.p / values.a, terminal / values.p % values.a};
}

TEST(Dragonfly, OfFullSizeJoinsEveryTwoGroupsByOneCable) {
  // a h + 1 groups of a p terminals: N = a p (a h + 1), Kim et al., section 3.1; here 4 x 2 x 9 = 72.
  const auto trunks = all_trunks(build(72, {}));
  std::map<std::pair<int, int>, int> cables;
  int local = 0;
  for (const Hop& hop : trunks) {
    if (hop.from.first == hop.to.first) {
      ++local;
    } else {
      ++cables[{hop.from.first, hop.to.first}];
    }
  }
  EXPECT_EQ(local, 9 * 4 * 3);  // every router to all others of its group
  EXPECT_EQ(cables.size(), 9U * 8);
  EXPECT_TRUE(std::all_of(cables.begin(), cables.end(), [](const auto& entry) { return entry.second == 1; }));
}

TEST(Dragonfly, UsesNoMoreGlobalLinksOfARouterThanItHas) {
  for (const int terminals : {9, 17, 30, 50, 72}) {
    std::map<Router, int> used;
    for (const Hop& hop : all_trunks(build(terminals, {}))) {
      used[hop.from] += hop.cable >= 0 ? 1 : 0;
    }
    for (const auto& [router, count] : used) {
      EXPECT_LE(count, 2) << terminals << " terminals, group " << router.first << " router " << router.second;
    }
  }
}

TEST(Dragonfly, JoinsBothEndsOfACable) {
  std::set<std::tuple<Router, Router, int>> ends;
  for (const Hop& hop : all_trunks(build(30, {}))) {  // 4 groups, 2 cables between each two
    ends.insert({hop.from, hop.to, hop.cable});
  }
  for (const auto& [from, to, cable] : ends) {
    EXPECT_TRUE(ends.contains({to, from, cable}));
  }
  EXPECT_EQ(ends.size(), 4U * 4 * 3 + 4 * 3 * 2);
}

TEST(Dragonfly, RoutesAreWalksFromRouterToRouterOfAtMostLocalGlobalLocal) {
  for (const Parameters& values :
       {Parameters{}, Parameters{.p = 3, .a = 3, .h = 1}, Parameters{.p = 1, .a = 5, .h = 3}}) {
    const int terminals = std::min(70, values.p * values.a * (values.a * values.h + 1));
    const fabric::Fabric fabric = build(terminals, values);
    std::size_t longest = 0;
    for (int from = 0; from < terminals; ++from) {
      for (int to = 0; to < terminals; ++to) {
        if (from == to) {
          continue;
        }
        Router here = router_of(from, values);
        int global = 0;
        const std::vector<Hop> hops = hops_between(fabric, from, to);
        for (const Hop& hop : hops) {
          ASSERT_EQ(hop.from, here);
          here = hop.to;
          global += hop.cable >= 0 ? 1 : 0;
        }
        ASSERT_EQ(here, router_of(to, values));
        ASSERT_EQ(global, router_of(from, values).first == here.first ? 0 : 1);
        longest = std::max(longest, hops.size());
      }
    }
    EXPECT_EQ(longest, 3U);  // the diameter, section 3.1
  }
}

TEST(Dragonfly, TakesTheShortestWayThatItsCablesAllow) {
  const Parameters values;
  const fabric::Fabric fabric = build(40, values);  // 5 groups, 2 cables between each two
  std::set<std::pair<Router, Router>> joined;
  for (const Hop& hop : all_trunks(fabric)) {
    if (hop.cable >= 0) {
      joined.insert({hop.from, hop.to});
    }
  }
  for (int from = 0; from < 40; ++from) {
    for (int to = 0; to < 40; ++to) {
      const Router start = router_of(from, values);
      const Router end = router_of(to, values);
      if (start.first == end.first) {
        continue;
      }
      std::size_t expected = 3;
      for (const auto& [near, far] : joined) {
        if (near.first == start.first && far.first == end.first) {
          expected = std::min(expected, std::size_t{1} + (near == start ? 0 : 1) + (far == end ? 0 : 1));
        }
      }
      ASSERT_EQ(hops_between(fabric, from, to).size(), expected) << from << " to " << to;
    }
  }
}

TEST(Dragonfly, PaysThreeRoutersForLocalAndTheCableForGlobalTraffic) {
  const fabric::Fabric fabric = build(72, {.global_latency = 7e-7});
  using testing::kPortLatency;
  using testing::kSwitchLatency;
  EXPECT_DOUBLE_EQ(fabric::route(fabric, 0, 1).latency.value(), kPortLatency + kSwitchLatency);      // one router
  EXPECT_DOUBLE_EQ(fabric::route(fabric, 0, 2).latency.value(), kPortLatency + 2 * kSwitchLatency);  // neighbour
  const auto hops = static_cast<double>(hops_between(fabric, 0, 71).size());
  EXPECT_DOUBLE_EQ(fabric::route(fabric, 0, 71).latency.value(), kPortLatency + (hops + 1) * kSwitchLatency + 7e-7);
}

TEST(Dragonfly, GivesLocalAndGlobalLinksTheirMultipleOfAPort) {
  const fabric::Fabric fabric = build(72, {.local = 0.5, .global = 3});
  std::set<double> local;
  std::set<double> global;
  for (std::size_t link = 0; link < fabric.links.size(); ++link) {
    if (fabric.links[link].link_class == fabric::LinkClass::kTrunk) {
      const Hop hop = hop_of(fabric, static_cast<fabric::LinkId>(link));
      (hop.cable >= 0 ? global : local).insert(fabric.links[link].bandwidth.value());
    }
  }
  EXPECT_EQ(local, std::set<double>{0.5 * testing::kPortBandwidth});
  EXPECT_EQ(global, std::set<double>{3 * testing::kPortBandwidth});
}

TEST(Dragonfly, SpreadsGlobalTrafficOverAllCablesOfTwoGroups) {
  const fabric::Fabric fabric = build(16, {});  // 2 groups of 8, all 8 cables between them
  std::map<int, int> routes_of_cable;
  for (int from = 0; from < 8; ++from) {
    for (int to = 8; to < 16; ++to) {
      for (const Hop& hop : hops_between(fabric, from, to)) {
        routes_of_cable[hop.cable] += hop.cable >= 0 ? 1 : 0;
      }
    }
  }
  routes_of_cable.erase(-1);
  EXPECT_EQ(routes_of_cable.size(), 8U);
}

TEST(Dragonfly, SaysHowManyGroupsItsGlobalLinksReach) {
  const auto fabric = try_build(73, {});
  ASSERT_FALSE(fabric);
  EXPECT_EQ(fabric.error().reason,
            "73 network ports fill 10 groups of 4 x 2 terminals, but 4 x 2 global links of a group reach at most 9 "
            "groups.");
}

TEST(Dragonfly, OfMoreLinksThanIdsIsRefused) {
  const auto fabric = try_build(72, {.p = 1, .a = 10'000, .h = 10'000});
  ASSERT_FALSE(fabric);
  EXPECT_NE(fabric.error().reason.find("99990000 links"), std::string::npos) << fabric.error().reason;
}

TEST(Dragonfly, DescribesItself) {
  EXPECT_EQ(build(40, {}).description,
            "dragonfly, 5 groups of 4 routers with 2 terminals each, 2 cables between groups");
}

TEST(Dragonfly, OfFourThousandDevicesIsBuiltAndRoutedInHalfASecond) {
  const auto start = std::chrono::steady_clock::now();
  const fabric::Fabric fabric = build(4096, {.p = 8, .a = 16, .h = 8});
  fabric::Router router(fabric);
  std::vector<fabric::LinkId> links;
  std::size_t crossings = 0;
  for (int from = 0; from < 4096; ++from) {
    for (int to = from % 16; to < 4096; to += 16) {  // a million routes
      if (from != to) {
        links.clear();
        router.append(from, to, links);
        crossings += links.size();
      }
    }
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  EXPECT_GT(crossings, 4096U * 256 * 4);  // most pairs are in different groups
  EXPECT_LT(seconds.count(), 0.5);
}

}  // namespace
}  // namespace lamina::topologies
