#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/contract/topologies/clusters.hpp"
#include "topologies/topology.hpp"

namespace lamina::topologies {
namespace {

struct Size {
  int x = 0;
  int y = 1;
  int z = 1;
  int nics = 1;
  double link_bandwidth = 1;
};

tl::expected<fabric::Fabric, error::Infeasible> try_build(int nodes, const Size& size) {
  const auto catalog = builtin_topologies();
  const auto* entry = catalog.find("torus");
  scenario::Cluster cluster =
      testing::make_cluster({.nodes = nodes, .devices = size.nics, .domain = size.nics, .nics = size.nics});
  cluster.topology = testing::choose(entry->info);
  catalog::Parameters& parameters = cluster.topology.parameters;
  parameters.set_number("size_x", size.x);
  parameters.set_number("size_y", size.y);
  parameters.set_number("size_z", size.z);
  parameters.set_number("link_bandwidth", size.link_bandwidth);
  return entry->implementation->build(cluster);
}

fabric::Fabric build(int nodes, const Size& size) {
  return try_build(nodes, size).value();
}

std::vector<std::string> trunks_between(const fabric::Fabric& fabric, int from, int to) {
  const fabric::Route route = fabric::route(fabric, from, to);
  std::vector<std::string> names;
  for (std::size_t i = 1; i + 1 < route.links.size(); ++i) {
    names.push_back(fabric::link_name(fabric, route.links[i]));
  }
  return names;
}

/// Router hops of all ordered pairs.
long total_hops(const fabric::Fabric& fabric) {
  const auto devices = static_cast<int>(fabric.devices.size());
  long total = 0;
  for (int from = 0; from < devices; ++from) {
    for (int to = 0; to < devices; ++to) {
      total += from == to ? 0 : static_cast<long>(fabric::route(fabric, from, to).links.size()) - 2;
    }
  }
  return total;
}

/// Distances from one node of a ring of n to all: floor(n^2 / 4) (Dally 1990, the mean distance k/4 for even k).
long ring_sum(long n) {
  return n * n / 4;
}

TEST(Torus, DistancesSumToThoseOfItsRings) {
  // Each dimension adds the distance of its ring, once for every position of the other two.
  for (const auto& [x, y, z] : {std::tuple{4L, 1L, 1L}, {5L, 4L, 1L}, {3L, 2L, 4L}, {3L, 3L, 3L}, {2L, 2L, 2L}}) {
    const long nodes = x * y * z;
    const fabric::Fabric fabric =
        build(static_cast<int>(nodes), {static_cast<int>(x), static_cast<int>(y), static_cast<int>(z)});
    const long from_one = ring_sum(x) * y * z + ring_sum(y) * x * z + ring_sum(z) * x * y;
    EXPECT_EQ(total_hops(fabric), nodes * from_one) << x << " x " << y << " x " << z;
  }
}

TEST(Torus, HasTheDiameterOfHalfOfEveryDimension) {
  const fabric::Fabric fabric = build(5 * 4 * 3, {5, 4, 3});
  std::size_t longest = 0;
  for (int to = 1; to < 60; ++to) {
    longest = std::max(longest, fabric::route(fabric, 0, to).links.size() - 2);
  }
  EXPECT_EQ(longest, 5U / 2 + 4 / 2 + 3 / 2);
}

TEST(Torus, WalksXThenYThenZTheShorterWayAround) {
  const fabric::Fabric fabric = build(5 * 4 * 3, {5, 4, 3});
  // From (0, 0, 0) to (3, 1, 2): two steps down in x around the edge, one up in y, one down in z.
  EXPECT_EQ(trunks_between(fabric, 0, 3 + 5 * 1 + 20 * 2),
            (std::vector<std::string>{"node 0 x-", "node 4 x-", "node 3 y+", "node 8 z-"}));
  // Two steps either way in y: upwards.
  EXPECT_EQ(trunks_between(fabric, 0, 10), (std::vector<std::string>{"node 0 y+", "node 5 y+"}));
  EXPECT_EQ(trunks_between(fabric, 10, 0), (std::vector<std::string>{"node 10 y+", "node 15 y+"}));
}

TEST(Torus, HasTwoLinksPerNodeAndDimensionAndOneWhereTwoNodesFaceEachOther) {
  const auto trunks = [](const fabric::Fabric& fabric) {
    return std::count_if(fabric.links.begin(), fabric.links.end(),
                         [](const fabric::Link& link) { return link.link_class == fabric::LinkClass::kTrunk; });
  };
  EXPECT_EQ(trunks(build(27, {3, 3, 3})), 27 * 6);
  EXPECT_EQ(trunks(build(12, {6, 2, 1})), 12 * 3);
  EXPECT_EQ(trunks(build(1, {1, 1, 1})), 0);
}

TEST(Torus, LoadsAllLinksOfAnOddRingAlikeUnderUniformTraffic) {
  // n (n^2 - 1)/4 hops of all ordered pairs, over 2 n links.
  constexpr int kNodes = 7;
  const fabric::Fabric fabric = build(kNodes, {kNodes});
  std::map<std::string, int> load;
  for (int from = 0; from < kNodes; ++from) {
    for (int to = 0; to < kNodes; ++to) {
      for (const std::string& name : from == to ? std::vector<std::string>{} : trunks_between(fabric, from, to)) {
        ++load[name];
      }
    }
  }
  EXPECT_EQ(load.size(), 2U * kNodes);
  for (const auto& [name, count] : load) {
    EXPECT_EQ(count, (kNodes * kNodes - 1) / 8) << name;
  }
}

TEST(Torus, IsCutInHalfByTwoCablesPerRow) {
  // Bisection of a torus of even x: 2 y z cables of one link per direction (Dally 1990).
  const fabric::Fabric fabric = build(4 * 3 * 2, {4, 3, 2});
  std::set<std::string> crossing;
  for (int from = 0; from < 24; ++from) {
    for (int to = 0; to < 24; ++to) {
      if (from % 4 < 2 && to % 4 >= 2) {  // every route has to leave the half x < 2
        for (const std::string& name : trunks_between(fabric, from, to)) {
          if (name.find(" x") != std::string::npos) {
            const int node = std::stoi(name.substr(5));
            const bool up = name.back() == '+';
            if ((node % 4 == 1 && up) || (node % 4 == 0 && !up)) {
              crossing.insert(name);
            }
          }
        }
      }
    }
  }
  EXPECT_EQ(crossing.size(), 2U * 3 * 2);
}

TEST(Torus, GivesALinkTheBandwidthOfAllPortsOfANodeTimesTheMultiple) {
  const fabric::Fabric fabric = build(9, {3, 3, 1, 4, 0.5});
  for (const fabric::Link& link : fabric.links) {
    if (link.link_class == fabric::LinkClass::kTrunk) {
      EXPECT_DOUBLE_EQ(link.bandwidth.value(), 0.5 * 4 * testing::kPortBandwidth);
    }
  }
}

TEST(Torus, FindsTheSizeInXAndRefusesNodesThatDoNotFillIt) {
  EXPECT_EQ(build(24, {0, 3, 2}).description, "torus of 4 x 3 x 2 nodes");
  EXPECT_EQ(build(24, {8, 3, 1}).description, "torus of 8 x 3 nodes");
  EXPECT_EQ(try_build(25, {0, 3, 2}).error().reason, "A torus of 3 x 2 in y and z cannot hold 25 nodes evenly.");
  EXPECT_EQ(try_build(25, {4, 3, 2}).error().reason, "A torus of 4 x 3 x 2 has 24 nodes; the cluster has 25.");
}

TEST(Ring, IsATorusOfOneDimension) {
  const auto catalog = builtin_topologies();
  const auto* entry = catalog.find("ring");
  scenario::Cluster cluster = testing::make_cluster({.nodes = 9, .devices = 2, .domain = 2, .nics = 2});
  cluster.topology = testing::choose(entry->info);
  const fabric::Fabric ring = entry->implementation->build(cluster).value();
  EXPECT_EQ(ring.description, "ring of 9 nodes");
  EXPECT_EQ(trunks_between(ring, 0, 2 * 7), (std::vector<std::string>{"node 0 x-", "node 8 x-"}));
  EXPECT_DOUBLE_EQ(fabric::route(ring, 0, 2 * 4).latency.value(),
                   testing::kPortLatency + 5 * testing::kSwitchLatency);  // 4 hops, 5 routers
  EXPECT_DOUBLE_EQ(ring.links.back().bandwidth.value(), 2 * testing::kPortBandwidth);
}

}  // namespace
}  // namespace lamina::topologies
