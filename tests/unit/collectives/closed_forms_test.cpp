#include <gtest/gtest.h>

#include "sim/collectives/collective.hpp"
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
  return idle_time(catalog.find(algorithm)->implementation->phases(kind, group, fabric), Bytes(kPayload), fabric)
      .value();
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
  constexpr double kHop = testing::kPortLatency + 3 * testing::kSwitchLatency;  // leaf to leaf, the slowest hop
  expect_close(time_of("ring", CollectiveKind::kAllReduce, devices(12, 8), fabric),
               2 * 11.0 / 12 * kPayload / testing::kPortBandwidth + 2 * 11 * kHop);
}

TEST(EveryAlgorithm, BeginsOnceWithTheStartOfTheLinksThatItLeavesBy) {
  fabric::Fabric inside = build("nvlink_switch", {.nodes = 1, .devices = 8, .domain = 8});
  fabric::Fabric outside = build("fat_tree", {.nodes = 4, .devices = 8, .domain = 8, .nics = 8});
  for (const char* algorithm : {"ring", "hierarchical"}) {
    for (const CollectiveKind kind :
         {CollectiveKind::kAllReduce, CollectiveKind::kReduceScatter, CollectiveKind::kAllGather,
          CollectiveKind::kAllToAll, CollectiveKind::kBroadcast}) {
      SCOPED_TRACE(algorithm);
      inside.device_link_start = outside.network_start = Seconds(0);
      const double inside_s = time_of(algorithm, kind, devices(8), inside);
      const double outside_s = time_of(algorithm, kind, devices(32), outside);
      inside.device_link_start = Seconds(3e-5);
      outside.network_start = Seconds(7e-5);
      expect_close(time_of(algorithm, kind, devices(8), inside), inside_s + 3e-5);
      expect_close(time_of(algorithm, kind, devices(32), outside), outside_s + 7e-5);
    }
  }
}

TEST(Ring, UsesAllPortsOfItsNodes) {
  // 4 nodes of 8 devices, P ports: each of P channels moves 2(n - 1)/n of S/P through one port per node.
  constexpr double kHop = testing::kPortLatency + testing::kSwitchLatency;
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
  constexpr double kHop = testing::kPortLatency + testing::kSwitchLatency;
  expect_close(time_of("ring", CollectiveKind::kAllGather, devices(16), fabric),
               15.0 / 16 * kPayload / 8 * 7 / 50e9 + 15 * kHop);
}

TEST(Ring, CrossesAnOversubscribedTrunkOncePerChannelAndDirection) {
  // Two leaves of 4 nodes with one port each, 8:1: trunk 4 x 25 / 8 = 12.5 GB/s, crossed once per direction.
  const fabric::Fabric fabric = build("fat_tree", {.nodes = 8, .devices = 1, .domain = 1, .nics = 1}, 8);
  constexpr double kHop = testing::kPortLatency + 3 * testing::kSwitchLatency;
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
  const auto phases = algorithm.phases(CollectiveKind::kAllReduce, devices(32), fabric);
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

TEST(IdleTime, LeavesOutLinksThatNeverLimit) {
  fabric::Fabric fabric;
  fabric.links.resize(2);
  fabric.links[0].bandwidth = BytesPerSecond(10);
  fabric.links[1].bandwidth = BytesPerSecond(1);
  fabric.links[1].never_limits = true;
  FlowPhase phase;
  phase.links = {{0, 3}, {1, 1}};
  phase.bytes_per_payload = 0.5;
  phase.latency = Seconds(2);
  EXPECT_DOUBLE_EQ(idle_time({phase, phase}, Bytes(40), fabric).value(), 2 * (2 + 40 * 0.5 * 3 / 10));
  EXPECT_DOUBLE_EQ(idle_time({}, Bytes(40), fabric).value(), 0);
}

}  // namespace
}  // namespace lamina::collectives
