#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/contract/topologies/clusters.hpp"
#include "topologies/topology.hpp"

namespace lamina::topologies {
namespace {

struct Parameters {
  int levels = 2;
  int nodes_per_leaf = 4;
  int leaves_per_pod = 2;
  double oversubscription = 1;
  double core_oversubscription = 1;
  int planes = 1;
};

tl::expected<fabric::Fabric, error::Infeasible> build_from(scenario::Cluster cluster, const Parameters& values) {
  const auto catalog = builtin_topologies();
  const auto* entry = catalog.find("fat_tree");
  cluster.topology = testing::choose(entry->info);
  catalog::Parameters& parameters = cluster.topology.parameters;
  parameters.set_number("levels", values.levels);
  parameters.set_number("nodes_per_leaf", values.nodes_per_leaf);
  parameters.set_number("leaves_per_pod", values.leaves_per_pod);
  parameters.set_number("oversubscription", values.oversubscription);
  parameters.set_number("core_oversubscription", values.core_oversubscription);
  parameters.set_number("planes", values.planes);
  return entry->implementation->build(cluster);
}

fabric::Fabric build(int nodes, int nics, const Parameters& values) {
  return build_from(testing::make_cluster({.nodes = nodes, .devices = 8, .domain = 8, .nics = nics}), values).value();
}

std::vector<fabric::Link> trunks(const fabric::Fabric& fabric) {
  std::vector<fabric::Link> result;
  std::copy_if(fabric.links.begin(), fabric.links.end(), std::back_inserter(result),
               [](const fabric::Link& link) { return link.link_class == fabric::LinkClass::kTrunk; });
  return result;
}

/// Switches between the first devices of two nodes, from the route's latency.
int switches(const fabric::Fabric& fabric, int from_node, int to_node) {
  const double latency = fabric::route(fabric, 8 * from_node, 8 * to_node).latency.value();
  return static_cast<int>((latency - testing::kPortLatency) / testing::kSwitchLatency + 0.5);
}

TEST(FatTree, SizesTheTrunkOfAPartlyFilledLeafByTheFullLeaf) {
  const fabric::Fabric fabric = build(9, 2, {.oversubscription = 2});  // leaves of 4, 4 and 1 nodes
  const auto links = trunks(fabric);
  ASSERT_EQ(links.size(), 6U);
  for (const fabric::Link& link : links) {
    EXPECT_DOUBLE_EQ(link.bandwidth.value(), 4 * 2 * testing::kPortBandwidth / 2);
  }
}

TEST(FatTree, CrossesOneSwitchInALeafThreeInAPodFiveBetweenPods) {
  const fabric::Fabric fabric = build(16, 1, {.levels = 3});
  EXPECT_EQ(switches(fabric, 0, 3), 1);
  EXPECT_EQ(switches(fabric, 0, 4), 3);
  EXPECT_EQ(switches(fabric, 0, 8), 5);
  EXPECT_EQ(fabric::route(fabric, 0, 8 * 15).links.size(), 2U + 4);
  EXPECT_EQ(switches(build(16, 1, {.levels = 2}), 0, 15), 3);
}

TEST(FatTree, DividesThePodTrunkByTheSecondOversubscription) {
  const fabric::Fabric fabric = build(16, 1, {.levels = 3, .oversubscription = 2, .core_oversubscription = 4});
  const auto links = trunks(fabric);  // 2 pods, then 4 leaves
  ASSERT_EQ(links.size(), 12U);
  EXPECT_DOUBLE_EQ(links.front().bandwidth.value(), 2 * 4 * testing::kPortBandwidth / 2 / 4);
  EXPECT_DOUBLE_EQ(links.back().bandwidth.value(), 4 * testing::kPortBandwidth / 2);
}

TEST(FatTree, NeverLimitsWhenNonBlocking) {
  for (const int levels : {2, 3}) {
    for (const fabric::Link& link : trunks(build(23, 4, {.levels = levels}))) {
      EXPECT_TRUE(link.never_limits);
    }
  }
}

TEST(FatTree, LimitsOnlyAtTheCoreWhenOnlyTheCoreIsOversubscribed) {
  const auto links = trunks(build(32, 1, {.levels = 3, .core_oversubscription = 2}));  // 4 pods, 8 leaves
  ASSERT_EQ(links.size(), 2U * (4 + 8));
  for (std::size_t link = 0; link < links.size(); ++link) {
    EXPECT_EQ(links[link].never_limits, link >= 8) << link;
  }
}

TEST(FatTree, NeedsNoTrunksOnOneLeaf) {
  const fabric::Fabric fabric = build(4, 2, {.levels = 3});
  EXPECT_TRUE(trunks(fabric).empty());
  EXPECT_EQ(switches(fabric, 0, 3), 1);
}

std::vector<std::string> names_of_route(const fabric::Fabric& fabric, int from, int to) {
  std::vector<std::string> names;
  for (const fabric::LinkId link : fabric::route(fabric, from, to).links) {
    names.push_back(fabric::link_name(fabric, link));
  }
  return names;
}

TEST(FatTreePlanes, KeepTrafficOfOnePlaneInItsOwnTree) {
  const fabric::Fabric fabric = build(8, 8, {.planes = 2});  // leaves of 4 nodes; port i on plane i mod 2
  EXPECT_EQ(
      names_of_route(fabric, 3, 8 * 5 + 3),
      (std::vector<std::string>{"node 0 port 3 up", "plane 1 leaf 0 up", "plane 1 leaf 1 down", "node 5 port 3 down"}));
  EXPECT_EQ(names_of_route(fabric, 3, 8 + 5),
            (std::vector<std::string>{"node 0 port 3 up", "node 1 port 5 down"}));  // one leaf of plane 1
}

TEST(FatTreePlanes, ChangePlaneOverTheDeviceLinkOfTheSender) {
  const fabric::Fabric fabric = build(8, 8, {.planes = 2});
  EXPECT_EQ(names_of_route(fabric, 3, 8 * 5 + 4),
            (std::vector<std::string>{"device 3 to domain switch", "device 4 from domain switch", "node 0 port 4 up",
                                      "plane 0 leaf 0 up", "plane 0 leaf 1 down", "node 5 port 4 down"}));
  EXPECT_DOUBLE_EQ(fabric::route(fabric, 3, 8 * 5 + 4).latency.value(),
                   testing::kDeviceLinkLatency + testing::kPortLatency + 3 * testing::kSwitchLatency);
}

TEST(FatTreePlanes, ChangePlaneOverTheHostWhereNoDeviceLinkLeads) {
  const fabric::Fabric fabric =
      build_from(testing::make_cluster({.nodes = 8, .devices = 8, .domain = 4, .nics = 8, .host_shared_by = 1}),
                 {.planes = 8})
          .value();
  EXPECT_EQ(names_of_route(fabric, 1, 8 + 6), (std::vector<std::string>{"device 1 to host", "device 6 from host",
                                                                        "node 0 port 6 up", "node 1 port 6 down"}));
}

TEST(FatTreePlanes, ShareTheBandwidthOfTheLeavesOut) {
  const auto links = trunks(build(8, 8, {.oversubscription = 2, .planes = 4}));
  ASSERT_EQ(links.size(), 4U * 2 * 2);
  for (const fabric::Link& link : links) {
    EXPECT_DOUBLE_EQ(link.bandwidth.value(), 4 * 8 / 4 * testing::kPortBandwidth / 2);
  }
}

TEST(FatTreePlanes, OfThreeLevelsHaveTheirOwnPodsAndCore) {
  const fabric::Fabric fabric =
      build(16, 2, {.levels = 3, .oversubscription = 2, .core_oversubscription = 4, .planes = 2});
  EXPECT_EQ(trunks(fabric).size(), 2U * 2 * (2 + 4));  // per plane 2 pods and 4 leaves
  EXPECT_EQ(names_of_route(fabric, 7, 8 * 15 + 7),
            (std::vector<std::string>{"node 0 port 1 up", "plane 1 leaf 0 up", "plane 1 pod 0 up", "plane 1 pod 1 down",
                                      "plane 1 leaf 3 down", "node 15 port 1 down"}));
}

TEST(FatTreePlanes, NeedPortsForEachAndAWayBetweenTheDevicesOfANode) {
  EXPECT_EQ(build_from(testing::make_cluster({.nodes = 4, .nics = 8}), {.planes = 3}).error().reason,
            "The 8 network ports of a node cannot be dealt out evenly to 3 planes.");
  scenario::Cluster cluster = testing::make_cluster({.nodes = 4, .devices = 8, .domain = 4, .nics = 8});
  cluster.node.host_path.bandwidth = BytesPerSecond(0);
  EXPECT_EQ(build_from(cluster, {.planes = 2}).error().reason,
            "Traffic between 2 planes changes devices inside a node, but the device links join only 4 of its 8 devices "
            "and there is no host path.");
}

TEST(FatTree, DescribesItself) {
  EXPECT_EQ(build(16, 2, {.planes = 2}).description, "fat tree, 2 levels, 4 leaves of 4 nodes, non-blocking, 2 planes");

  EXPECT_EQ(build(76 * 32, 1, {.nodes_per_leaf = 32}).description,
            "fat tree, 2 levels, 76 leaves of 32 nodes, non-blocking");
  EXPECT_EQ(build(16, 1, {.levels = 3, .oversubscription = 1.5}).description,
            "fat tree, 3 levels, 4 leaves of 4 nodes, 1.5:1 oversubscribed, 2 pods of 2 leaves, non-blocking");
}

}  // namespace
}  // namespace lamina::topologies
