#include <algorithm>

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
};

fabric::Fabric build(int nodes, int nics, const Parameters& values) {
  const auto catalog = builtin_topologies();
  const auto* entry = catalog.find("fat_tree");
  scenario::Cluster cluster = testing::make_cluster({.nodes = nodes, .devices = 8, .domain = 8, .nics = nics});
  cluster.topology = testing::choose(entry->info);
  catalog::Parameters& parameters = cluster.topology.parameters;
  parameters.set_number("levels", values.levels);
  parameters.set_number("nodes_per_leaf", values.nodes_per_leaf);
  parameters.set_number("leaves_per_pod", values.leaves_per_pod);
  parameters.set_number("oversubscription", values.oversubscription);
  parameters.set_number("core_oversubscription", values.core_oversubscription);
  return entry->implementation->build(cluster).value();
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

TEST(FatTree, DescribesItself) {
  EXPECT_EQ(build(76 * 32, 1, {.nodes_per_leaf = 32}).description,
            "fat tree, 2 levels, 76 leaves of 32 nodes, non-blocking");
  EXPECT_EQ(build(16, 1, {.levels = 3, .oversubscription = 1.5}).description,
            "fat tree, 3 levels, 4 leaves of 4 nodes, 1.5:1 oversubscribed, 2 pods of 2 leaves, non-blocking");
}

}  // namespace
}  // namespace lamina::topologies
