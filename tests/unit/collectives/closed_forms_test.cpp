#include <algorithm>

#include <gtest/gtest.h>

#include "sim/collectives/plans.hpp"
#include "tests/contract/topologies/clusters.hpp"
#include "topologies/topology.hpp"

/// Closed formulas on an idle network. S: payload, n: members, B: bandwidth, L: latency of a hop.
///  - ring all-reduce 2(n - 1)/n S/B + 2(n - 1) L; reduce-scatter and all-gather half of it: Patarasuk and Yuan,
///  "Bandwidth
///    optimal all-reduce algorithms for clusters of workstations", J. Parallel Distrib. Comput. 69 (2009) 117-124
///  - bus bandwidth factors 2(n - 1)/n, (n - 1)/n, (n - 1)/n, 1, (n - 1)/n of all-reduce, reduce-scatter, all-gather,
///  broadcast,
///    all-to-all: nccl-tests, doc/PERFORMANCE.md
namespace lamina::collectives {
namespace {

using graph::CollectiveKind;

constexpr double kPayload = 3e8;

fabric::Fabric build(const char* topology, const testing::Shape& shape, double oversubscription = 1) {
  const auto catalog = topologies::builtin_topologies();
  const auto* entry = catalog.find(topology);
  scenario::Cluster cluster = testing::make_cluster(shape);
  cluster.topology = testing::choose(entry->info);
  cluster.topology.parameters.set_number("nodes_per_leaf", 4);
  cluster.topology.parameters.set_number("oversubscription", oversubscription);
  return entry->implementation->build(cluster).value();
}

std::vector<int> devices(int count, int stride = 1) {
  std::vector<int> result;
  for (int index = 0; index < count; ++index) {
    result.push_back(index * stride);
  }
  return result;
}

double time_of(const char* algorithm, CollectiveKind kind, const std::vector<int>& group,
               const fabric::Fabric& fabric) {
  const auto catalog = builtin_collectives();
  return idle_time(make_plans(*catalog.find(algorithm)->implementation, kind, group, fabric)).seconds(kPayload);
}

void expect_close(double actual, double expected) {
  EXPECT_NEAR(actual, expected, 1e-12 * expected);
}

TEST(Ring, TakesTheTextbookTimesInADomain) {
  constexpr double kBandwidth = testing::kDeviceLinkBandwidth;
  constexpr double kLatency = testing::kDeviceLinkLatency;
  for (const int n : {2, 3, 8}) {
    const fabric::Fabric fabric = build("nvlink_switch", {.nodes = 1, .devices = n, .domain = n});
    const double share = (n - 1.0) / n * kPayload / kBandwidth;
    expect_close(time_of("ring", CollectiveKind::kAllReduce, devices(n), fabric), 2 * share + 2 * (n - 1) * kLatency);
    expect_close(time_of("ring", CollectiveKind::kReduceScatter, devices(n), fabric), share + (n - 1) * kLatency);
    expect_close(time_of("ring", CollectiveKind::kAllGather, devices(n), fabric), share + (n - 1) * kLatency);
    expect_close(time_of("ring", CollectiveKind::kAllToAll, devices(n), fabric), share + (n - 1) * kLatency);
    expect_close(time_of("ring", CollectiveKind::kBroadcast, devices(n), fabric),
                 kPayload / kBandwidth + (n - 1) * kLatency);
  }
}

TEST(Ring, TakesTheTextbookTimeAcrossNodesWithOneDeviceEach) {
  const fabric::Fabric fabric = build("fat_tree", {.nodes = 12, .devices = 8, .domain = 8, .nics = 8});
  // three leaves of four nodes: three of twelve hops cross three switches, the others one
  constexpr double kHop = testing::kPortLatency + 1.5 * testing::kSwitchLatency;
  expect_close(time_of("ring", CollectiveKind::kAllReduce, devices(12, 8), fabric),
               2 * 11.0 / 12 * kPayload / testing::kPortBandwidth + 2 * 11 * kHop);
}

TEST(EveryAlgorithm, BeginsOnceWithTheStartOfTheProtocolOfTheLinksThatItLeavesBy) {
  fabric::Fabric inside = build("nvlink_switch", {.nodes = 1, .devices = 8, .domain = 8});
  fabric::Fabric outside = build("fat_tree", {.nodes = 4, .devices = 8, .domain = 8, .nics = 8});
  for (const char* algorithm : {"ring", "hierarchical", "tree", "nvls", "sharp", "automatic"}) {
    for (const CollectiveKind kind :
         {CollectiveKind::kAllReduce, CollectiveKind::kReduceScatter, CollectiveKind::kAllGather,
          CollectiveKind::kAllToAll, CollectiveKind::kBroadcast}) {
      SCOPED_TRACE(algorithm);
      inside.device_link_protocols = outside.network_protocols = {};
      const double inside_s = time_of(algorithm, kind, devices(8), inside);
      const double outside_s = time_of(algorithm, kind, devices(32), outside);
      inside.device_link_protocols = {{.name = "Simple", .algorithm = "", .start = Seconds(3e-5)}};
      outside.network_protocols = {{.name = "Simple", .algorithm = "", .start = Seconds(7e-5)}};
      expect_close(time_of(algorithm, kind, devices(8), inside), inside_s + 3e-5);
      expect_close(time_of(algorithm, kind, devices(32), outside), outside_s + 7e-5);
    }
  }
}

TEST(Ring, UsesAllPortsOfItsNodes) {
  // 4 nodes of 8 devices, P ports: each of P channels moves 2(n - 1)/n of S/P through one port per node; one hop of
  // eight is between nodes.
  constexpr double kHop = (testing::kPortLatency + testing::kSwitchLatency + 7 * testing::kDeviceLinkLatency) / 8;
  for (const int ports : {1, 2, 4, 8}) {
    const fabric::Fabric fabric = build("fat_tree", {.nodes = 4, .devices = 8, .domain = 8, .nics = ports});
    expect_close(time_of("ring", CollectiveKind::kAllReduce, devices(32), fabric),
                 2 * 31.0 / 32 * kPayload / (ports * testing::kPortBandwidth) + 2 * 31 * kHop);
  }
}

TEST(Ring, IsHeldUpByTheDeviceLinksWhenThePortsAreFaster) {
  // 8 ports of 25 GB/s against device links of 50 GB/s: a device sends 7 of 8 channels to its neighbours.
  fabric::Fabric fabric = build("fat_tree", {.nodes = 2, .devices = 8, .domain = 8, .nics = 8});
  for (fabric::Link& link : fabric.links) {
    if (link.link_class == fabric::LinkClass::kDeviceLink) {
      link.bandwidth = BytesPerSecond(50e9);
    }
  }
  constexpr double kHop = (testing::kPortLatency + testing::kSwitchLatency + 7 * testing::kDeviceLinkLatency) / 8;
  expect_close(time_of("ring", CollectiveKind::kAllGather, devices(16), fabric),
               15.0 / 16 * kPayload / 8 * 7 / 50e9 + 15 * kHop);
}

TEST(Ring, CrossesAnOversubscribedTrunkOncePerChannelAndDirection) {
  // Two leaves of 4 nodes with one port each, 8:1: trunk 4 x 25 / 8 = 12.5 GB/s, crossed once per direction; two of
  // eight hops cross three switches, the others one.
  const fabric::Fabric fabric = build("fat_tree", {.nodes = 8, .devices = 1, .domain = 1, .nics = 1}, 8);
  constexpr double kHop = testing::kPortLatency + 1.5 * testing::kSwitchLatency;
  expect_close(time_of("ring", CollectiveKind::kAllGather, devices(8), fabric), 7.0 / 8 * kPayload / 12.5e9 + 7 * kHop);
}

TEST(AllToAll, IsHeldUpByATrunkThatAllPairsBetweenLeavesShare) {
  // Of each direction 4 x 4 pairs of 1/8 S cross a trunk of 12.5 GB/s; every one of 7 shifts has a pair of both leaves.
  const fabric::Fabric fabric = build("fat_tree", {.nodes = 8, .devices = 1, .domain = 1, .nics = 1}, 8);
  constexpr double kHop = testing::kPortLatency + 3 * testing::kSwitchLatency;
  expect_close(time_of("ring", CollectiveKind::kAllToAll, devices(8), fabric), 16 * kPayload / 8 / 12.5e9 + 7 * kHop);
}

TEST(Hierarchical, AddsTheTimesOfItsThreePhases) {
  // N nodes, g devices each on a port of its own: inside 2 x (g - 1)/g S/B, between 2(N - 1)/N (S/g)/b.
  constexpr double kHop = testing::kPortLatency + testing::kSwitchLatency;
  const int nodes = 4;
  const int g = 8;
  const fabric::Fabric fabric = build("fat_tree", {.nodes = nodes, .devices = g, .domain = g, .nics = g});
  const double inside =
      (g - 1.0) / g * kPayload / testing::kDeviceLinkBandwidth + (g - 1) * testing::kDeviceLinkLatency;
  const double between = (nodes - 1.0) / nodes * kPayload / g / testing::kPortBandwidth + (nodes - 1) * kHop;
  expect_close(time_of("hierarchical", CollectiveKind::kAllReduce, devices(32), fabric), 2 * (inside + between));
  expect_close(time_of("hierarchical", CollectiveKind::kReduceScatter, devices(32), fabric), inside + between);
  expect_close(time_of("hierarchical", CollectiveKind::kAllGather, devices(32), fabric), between + inside);
}

TEST(Hierarchical, SharesPortsAmongLocalRanks) {
  // 8 local rings over 2 ports: 4 rings of (N - 1)/N S/8 on each.
  constexpr double kHop = testing::kPortLatency + testing::kSwitchLatency;
  const fabric::Fabric fabric = build("fat_tree", {.nodes = 2, .devices = 8, .domain = 8, .nics = 2});
  expect_close(time_of("hierarchical", CollectiveKind::kAllGather, devices(16), fabric),
               4 * 0.5 * kPayload / 8 / testing::kPortBandwidth + kHop +
                   7.0 / 8 * kPayload / testing::kDeviceLinkBandwidth + 7 * testing::kDeviceLinkLatency);
}

TEST(Hierarchical, ScattersInsideBeforeItGoesOutAndGathersInsideLast) {
  const fabric::Fabric fabric = build("fat_tree", {.nodes = 4, .devices = 8, .domain = 8, .nics = 8});
  const auto catalog = builtin_collectives();
  const Collective& algorithm = *catalog.find("hierarchical")->implementation;
  const auto phases = algorithm.candidates(CollectiveKind::kAllReduce, devices(32), fabric).front().phases;
  ASSERT_EQ(phases.size(), 3U);
  EXPECT_DOUBLE_EQ(phases[0].bytes_per_payload, 7.0 / 8);
  EXPECT_DOUBLE_EQ(phases[1].bytes_per_payload, 2 * 3.0 / 4 / 8);
  EXPECT_EQ(phases[0].links, phases[2].links);
  EXPECT_EQ(phases[0].links.size(), 2U * 32);  // every device link once
  EXPECT_EQ(phases[1].links.size(), 2U * 32);  // every port once
}

TEST(Hierarchical, FallsBackToTheRingWhereThereIsNoHierarchy) {
  const fabric::Fabric fabric = build("fat_tree", {.nodes = 4, .devices = 8, .domain = 8, .nics = 8});
  const std::vector<int> one_node = {0, 1, 2, 3};
  const std::vector<int> uneven = {0, 1, 2, 8, 9};
  for (const std::vector<int>& group : {one_node, devices(4, 8), uneven}) {
    EXPECT_DOUBLE_EQ(time_of("hierarchical", CollectiveKind::kAllReduce, group, fabric),
                     time_of("ring", CollectiveKind::kAllReduce, group, fabric));
  }
  EXPECT_DOUBLE_EQ(time_of("hierarchical", CollectiveKind::kBroadcast, devices(32), fabric),
                   time_of("ring", CollectiveKind::kBroadcast, devices(32), fabric));
}

TEST(Tree, MovesEveryByteOncePerDirectionOverThePortsOfTwoNodes) {
  // Two nodes of one device: S each way over one port, up and down one level.
  constexpr double kHop = testing::kPortLatency + testing::kSwitchLatency;
  const fabric::Fabric fabric = build("fat_tree", {.nodes = 2, .devices = 1, .domain = 1, .nics = 1});
  expect_close(time_of("tree", CollectiveKind::kAllReduce, devices(2), fabric),
               kPayload / testing::kPortBandwidth + 2 * kHop);
}

TEST(Tree, MovesEveryByteTwiceOverThePortsOfManyNodesInLogarithmicallyManyHops) {
  // An island inside one tree is a leaf of the other: 3/2 and 1/2 of half the payload each way (up one parent, down two
  // children), 2 S per port in all. Depth of the in-order tree of 4 nodes: 0 - 2 - {1, 3}.
  constexpr double kHop = testing::kPortLatency + testing::kSwitchLatency;
  const fabric::Fabric fabric = build("fat_tree", {.nodes = 4, .devices = 1, .domain = 1, .nics = 1});
  expect_close(time_of("tree", CollectiveKind::kAllReduce, devices(4), fabric),
               2 * kPayload / testing::kPortBandwidth + 2 * 2 * kHop);
}

TEST(Tree, PassesTheMembersOfANodeInAChain) {
  // 8 devices on 8 ports, two nodes: S/8 per port, but S up and S down over the device links of a chain's middle.
  fabric::Fabric fabric = build("fat_tree", {.nodes = 2, .devices = 8, .domain = 8, .nics = 8});
  for (fabric::Link& link : fabric.links) {
    if (link.link_class == fabric::LinkClass::kDeviceLink) {
      link.bandwidth = BytesPerSecond(50e9);
    }
  }
  // Of 16 trees each has its own head: a device is 14 times inside a chain (up and down out of it), twice its end and
  // twice its head (one of both ways each): 14 x 2 + 2 + 2, less what both share.
  constexpr double kHop = testing::kPortLatency + testing::kSwitchLatency;
  const double latency = 2 * (7 * testing::kDeviceLinkLatency + kHop);
  const double crossings = 2 * 6 * 2 + 2 + 2;  // per tree kind: 6 inside, 1 head, 1 end, of 8 ports
  expect_close(time_of("tree", CollectiveKind::kAllReduce, devices(16), fabric),
               crossings * kPayload / 16 / 50e9 + latency);
}

TEST(Nvls, SendsAndReceivesOneShardMoreThanThePayload) {
  const fabric::Fabric fabric = build("nvlink_switch", {.nodes = 1, .devices = 8, .domain = 8});
  constexpr double kBandwidth = testing::kDeviceLinkBandwidth;
  expect_close(time_of("nvls", CollectiveKind::kAllReduce, devices(8), fabric),
               9.0 / 8 * kPayload / kBandwidth + 2 * testing::kDeviceLinkLatency);
  expect_close(time_of("nvls", CollectiveKind::kAllGather, devices(8), fabric),
               kPayload / kBandwidth + testing::kDeviceLinkLatency);
  expect_close(time_of("nvls", CollectiveKind::kReduceScatter, devices(8), fabric),
               kPayload / kBandwidth + testing::kDeviceLinkLatency);
}

TEST(Nvls, OverlapsTheSwitchesWithTheTreesBetweenTheNodes) {
  constexpr double kHop = testing::kPortLatency + testing::kSwitchLatency;
  const fabric::Fabric fabric = build("fat_tree", {.nodes = 2, .devices = 8, .domain = 8, .nics = 8});
  const double latency = 2 * testing::kDeviceLinkLatency + 2 * kHop;
  const double ports = kPayload / 8 / testing::kPortBandwidth;
  const double switches = 9.0 / 8 * kPayload / testing::kDeviceLinkBandwidth;
  expect_close(time_of("nvls", CollectiveKind::kAllReduce, devices(16), fabric), std::max(ports, switches) + latency);
}

TEST(Sharp, SendsEachShareOnceAndReceivesTheSumOnce) {
  constexpr double kHop = testing::kPortLatency + testing::kSwitchLatency;
  const fabric::Fabric fabric = build("fat_tree", {.nodes = 4, .devices = 8, .domain = 8, .nics = 8});
  const double inside = 7.0 / 8 * kPayload / testing::kDeviceLinkBandwidth + 7 * testing::kDeviceLinkLatency;
  expect_close(time_of("sharp", CollectiveKind::kAllReduce, devices(32), fabric),
               2 * inside + kPayload / 8 / testing::kPortBandwidth + kHop);
  expect_close(time_of("sharp", CollectiveKind::kAllReduce, devices(4, 8), fabric),
               kPayload / testing::kPortBandwidth + kHop);
}

}  // namespace
}  // namespace lamina::collectives
