#include <algorithm>

#include <gtest/gtest.h>

#include "tests/contract/topologies/clusters.hpp"
#include "topologies/topology.hpp"

namespace lamina::topologies {
namespace {

fabric::Fabric build(int nodes, int nics, int nodes_per_rail_switch, double oversubscription = 1) {
  const auto catalog = builtin_topologies();
  const auto* entry = catalog.find("rail_optimized");
  scenario::Cluster cluster = testing::make_cluster({.nodes = nodes, .devices = 8, .domain = 8, .nics = nics});
  cluster.topology = testing::choose(entry->info);
  cluster.topology.parameters.set_number("nodes_per_rail_switch", nodes_per_rail_switch);
  cluster.topology.parameters.set_number("oversubscription", oversubscription);
  return entry->implementation->build(cluster).value();
}

int device(int node, int local) {
  return 8 * node + local;
}

double latency_over(int switches) {
  return testing::kPortLatency + switches * testing::kSwitchLatency;
}

TEST(RailOptimized, CrossesOneSwitchOnARailOfAPod) {
  const fabric::Fabric fabric = build(8, 8, 4);
  const fabric::Route route = fabric::route(fabric, device(0, 5), device(3, 5));
  EXPECT_EQ(route.links.size(), 2U);
  EXPECT_DOUBLE_EQ(route.latency.value(), latency_over(1));
}

TEST(RailOptimized, CrossesTheSpineBetweenRailsAndBetweenPods) {
  const fabric::Fabric fabric = build(8, 8, 4);
  for (const int to : {device(1, 6), device(4, 5), device(7, 0)}) {
    const fabric::Route route = fabric::route(fabric, device(0, 5), to);
    EXPECT_EQ(route.links.size(), 4U);
    EXPECT_DOUBLE_EQ(route.latency.value(), latency_over(3));
  }
}

TEST(RailOptimized, StaysOnDeviceLinksWithinANode) {
  const fabric::Fabric fabric = build(8, 8, 4);
  EXPECT_DOUBLE_EQ(fabric::route(fabric, device(0, 5), device(0, 6)).latency.value(), testing::kDeviceLinkLatency);
}

TEST(RailOptimized, GivesEveryRailSwitchOneTrunkPerDirection) {
  const fabric::Fabric fabric = build(10, 4, 4, 2);  // 3 pods of 4 rails
  int trunks = 0;
  for (const fabric::Link& link : fabric.links) {
    if (link.link_class == fabric::LinkClass::kTrunk) {
      ++trunks;
      EXPECT_DOUBLE_EQ(link.bandwidth.value(), 4 * testing::kPortBandwidth / 2);
    }
  }
  EXPECT_EQ(trunks, 2 * 3 * 4);
  EXPECT_EQ(fabric::link_name(fabric, static_cast<fabric::LinkId>(fabric.links.size()) - 2), "pod 2 rail switch 3 up");
  EXPECT_EQ(fabric.description, "rail-optimized, 3 pods of 4 nodes, 4 rails, spine 2:1 oversubscribed");
}

TEST(RailOptimized, IsOneSwitchWithOnePortPerNodeAndOnePod) {
  const fabric::Fabric fabric = build(4, 1, 4);
  EXPECT_DOUBLE_EQ(fabric::route(fabric, device(0, 5), device(3, 2)).latency.value(), latency_over(1));
  EXPECT_TRUE(std::none_of(fabric.links.begin(), fabric.links.end(),
                           [](const fabric::Link& link) { return link.link_class == fabric::LinkClass::kTrunk; }));
}

}  // namespace
}  // namespace lamina::topologies
