#include <gtest/gtest.h>

#include "tests/contract/topologies/clusters.hpp"
#include "topologies/topology.hpp"

namespace lamina::topologies {
namespace {

TEST(LeafSpineEthernet, IsOversubscribedThreeToOneByDefault) {
  const auto catalog = builtin_topologies();
  const auto* entry = catalog.find("leaf_spine_ethernet");
  scenario::Cluster cluster = testing::make_cluster({.nodes = 12, .devices = 8, .domain = 8, .nics = 2});
  cluster.topology = testing::choose(entry->info);
  cluster.topology.parameters.set_number("nodes_per_leaf", 4);
  const fabric::Fabric fabric = entry->implementation->build(cluster).value();
  int trunks = 0;
  int limits = 0;
  for (const fabric::Link& link : fabric.links) {
    if (link.link_class == fabric::LinkClass::kTrunk) {
      ++trunks;
      limits += link.never_limits ? 0 : 1;
      EXPECT_DOUBLE_EQ(link.bandwidth.value(), 4 * 2 * testing::kPortBandwidth / 3);
    }
  }
  EXPECT_EQ(trunks, 6);
  EXPECT_EQ(limits, 6);
  EXPECT_EQ(fabric.description, "leaf-spine Ethernet, 3 leaves of 4 nodes, 3:1 oversubscribed");
}

TEST(LeafSpineEthernet, PutsAllPortsOfANodeOnOneLeaf) {
  const auto catalog = builtin_topologies();
  const auto* entry = catalog.find("leaf_spine_ethernet");
  scenario::Cluster cluster = testing::make_cluster({.nodes = 4, .devices = 2, .domain = 2, .nics = 2});
  cluster.topology = testing::choose(entry->info);
  cluster.topology.parameters.set_number("nodes_per_leaf", 2);
  const fabric::Fabric fabric = entry->implementation->build(cluster).value();
  EXPECT_EQ(fabric::route(fabric, 0, 3).links.size(), 2U);  // another port of the other node of the leaf
  EXPECT_EQ(fabric::route(fabric, 0, 4).links.size(), 4U);
}

}  // namespace
}  // namespace lamina::topologies
