#include "sim/collectives/plans.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "tests/contract/topologies/clusters.hpp"
#include "topologies/topology.hpp"

namespace lamina::collectives {
namespace {

using graph::CollectiveKind;
using scenario::CollectiveProtocol;

constexpr double kHop = testing::kPortLatency + testing::kSwitchLatency;

fabric::Fabric build(const char* topology, const testing::Shape& shape) {
  const auto catalog = topologies::builtin_topologies();
  const auto* entry = catalog.find(topology);
  scenario::Cluster cluster = testing::make_cluster(shape);
  cluster.topology = testing::choose(entry->info);
  return entry->implementation->build(cluster).value();
}

std::vector<int> first(int count) {
  std::vector<int> result;
  for (int device = 0; device < count; ++device) {
    result.push_back(device);
  }
  return result;
}

std::vector<Plan> plans(const char* algorithm, CollectiveKind kind, const std::vector<int>& devices,
                        const fabric::Fabric& fabric) {
  const auto catalog = builtin_collectives();
  return make_plans(*catalog.find(algorithm)->implementation, kind, devices, fabric);
}

CollectiveProtocol protocol(const char* name, double start, double hop, double efficiency, const char* algorithm = "") {
  return {.name = name, .algorithm = algorithm, .start = Seconds(start), .hop = Seconds(hop), .efficiency = efficiency};
}

TEST(Plans, WithoutProtocolsHoldOneAlgorithmForEveryPayload) {
  const fabric::Fabric fabric = build("nvlink_switch", {.nodes = 1, .devices = 8, .domain = 8});
  const auto result = plans("ring", CollectiveKind::kAllReduce, first(8), fabric);
  ASSERT_EQ(result.size(), 1U);
  EXPECT_EQ(result[0].algorithm, "ring");
  EXPECT_EQ(result[0].phases[0].pace, 1);
  EXPECT_TRUE(result[0].range.contains(0));
  EXPECT_TRUE(result[0].range.contains(1e18));
}

TEST(Plans, ChangeProtocolWhereTheNextOneIsFaster) {
  fabric::Fabric fabric = build("nvlink_switch", {.nodes = 1, .devices = 8, .domain = 8});
  fabric.device_link_protocols = {protocol("Simple", 50e-6, 1e-6, 1), protocol("LL", 5e-6, 0, 0.1)};
  const auto result = plans("ring", CollectiveKind::kAllReduce, first(8), fabric);
  ASSERT_EQ(result.size(), 2U);
  EXPECT_EQ(result[0].protocol, "LL");
  EXPECT_EQ(result[1].protocol, "Simple");
  // 5 us + 10 x = 50 us + 14 us + x at full rate: x = 59 us / 9
  const double payload = 59e-6 / 9 * testing::kDeviceLinkBandwidth / 1.75;
  EXPECT_NEAR(result[0].range.up_to / payload, 1, 1e-12);
  EXPECT_EQ(result[1].range.above, result[0].range.up_to);
  EXPECT_DOUBLE_EQ(result[0].phases[0].pace, 10);
  EXPECT_NEAR(result[1].latency.value(), 50e-6 + 14e-6 + 14 * testing::kDeviceLinkLatency, 1e-15);
}

TEST(Plans, LeaveOutProtocolsThatAreNeverTheFastest) {
  fabric::Fabric fabric = build("nvlink_switch", {.nodes = 1, .devices = 8, .domain = 8});
  // the middle line meets the first where the last has passed both
  fabric.device_link_protocols = {protocol("a", 0, 0, 0.1), protocol("b", 40e-6, 0, 0.2), protocol("c", 41e-6, 0, 1)};
  const auto result = plans("ring", CollectiveKind::kAllGather, first(8), fabric);
  ASSERT_EQ(result.size(), 2U);
  EXPECT_EQ(result[0].protocol, "a");
  EXPECT_EQ(result[1].protocol, "c");
}

TEST(Plans, AreTheLeastOfAllLines) {
  fabric::Fabric fabric = build("fat_tree", {.nodes = 4, .devices = 8, .domain = 8, .nics = 8});
  fabric.network_protocols = {protocol("LL", 10e-6, 1e-6, 0.05), protocol("LL128", 20e-6, 2e-6, 0.5),
                              protocol("Simple", 60e-6, 5e-6, 1)};
  const auto all = plans("automatic", CollectiveKind::kAllReduce, first(32), fabric);
  const auto ring = plans("ring", CollectiveKind::kAllReduce, first(32), fabric);
  const auto tree = plans("tree", CollectiveKind::kAllReduce, first(32), fabric);
  ASSERT_GE(all.size(), 2U);
  for (double payload = 1; payload < 1e11; payload *= 1.7) {
    const double least = std::min(idle_time(ring).seconds(payload), idle_time(tree).seconds(payload));
    EXPECT_NEAR(idle_time(all).seconds(payload), least, 1e-12 * least);
    int used = 0;
    for (const Plan& plan : all) {
      if (plan.range.contains(payload)) {
        ++used;
        EXPECT_NEAR(plan.latency.value() + payload * plan.s_per_byte, least, 1e-9 * least);
      }
    }
    EXPECT_EQ(used, 1);
  }
  EXPECT_EQ(all.front().algorithm, "tree");  // 2 x (7 + 2) hops against 62
}

TEST(Plans, TakeHopsAndRatesInsideFromTheDeviceLinksProtocolOfTheSameName) {
  fabric::Fabric fabric = build("fat_tree", {.nodes = 2, .devices = 8, .domain = 8, .nics = 8});
  fabric.device_link_protocols = {protocol("LL", 9e-6, 3e-7, 0.01), protocol("Simple", 0, 0, 1)};
  fabric.network_protocols = {protocol("LL", 20e-6, 4e-6, 0.5)};
  const auto result = plans("ring", CollectiveKind::kAllGather, first(16), fabric);
  ASSERT_EQ(result.size(), 1U);
  // 15 steps, of 16 hops round the ring 2 between nodes; the device links carry 7 of 8 channels
  const double hops = 15.0 / 16 * (2 * (kHop + 4e-6) + 14 * (testing::kDeviceLinkLatency + 3e-7));
  EXPECT_NEAR(result[0].latency.value(), 20e-6 + hops, 1e-15);
  const double inside = 15.0 / 16 * 7 / 8 / (0.01 * testing::kDeviceLinkBandwidth);
  EXPECT_NEAR(result[0].s_per_byte / inside, 1, 1e-12);
}

TEST(Plans, OfAnAlgorithmThatProtocolsNameHoldTheseAlone) {
  fabric::Fabric fabric = build("fat_tree", {.nodes = 2, .devices = 1, .domain = 1, .nics = 1});
  fabric.network_protocols = {protocol("Simple", 1e-6, 0, 1), protocol("Simple", 9e-6, 0, 0.5, "tree")};
  const auto tree = plans("tree", CollectiveKind::kAllReduce, first(2), fabric);
  ASSERT_EQ(tree.size(), 1U);
  EXPECT_NEAR(tree[0].latency.value(), 9e-6 + 2 * kHop, 1e-15);
  EXPECT_EQ(tree[0].phases[0].pace, 2);
  EXPECT_NEAR(plans("ring", CollectiveKind::kAllReduce, first(2), fabric)[0].latency.value(), 1e-6 + 2 * kHop, 1e-15);
}

TEST(Plans, TakeUpReductionBySwitchesOnlyWhereAProtocolNamesIt) {
  fabric::Fabric fabric = build("nvlink_switch", {.nodes = 1, .devices = 8, .domain = 8});
  fabric.device_link_protocols = {protocol("Simple", 1e-6, 0, 1)};
  EXPECT_EQ(plans("automatic", CollectiveKind::kAllReduce, first(8), fabric).back().algorithm, "ring");
  fabric.device_link_protocols.push_back(protocol("NVLS", 1e-5, 0, 1, "nvls"));
  EXPECT_EQ(plans("automatic", CollectiveKind::kAllReduce, first(8), fabric).back().algorithm, "nvls");
  fabric::Fabric nodes = build("fat_tree", {.nodes = 4, .devices = 8, .domain = 8, .nics = 8});
  nodes.device_link_protocols = fabric.device_link_protocols;
  const std::vector<int> one_a_node = {0, 8, 16, 24};  // S over a port against 3/2 S of a ring
  const auto without = plans("automatic", CollectiveKind::kAllReduce, one_a_node, nodes);
  nodes.network_protocols = {protocol("Simple", 1e-6, 0, 1), protocol("SHARP", 1e-5, 0, 1, "sharp")};
  const auto with = plans("automatic", CollectiveKind::kAllReduce, one_a_node, nodes);
  EXPECT_NE(without.back().algorithm, "sharp");
  EXPECT_EQ(with.back().algorithm, "sharp");
}

}  // namespace
}  // namespace lamina::collectives
