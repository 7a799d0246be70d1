#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/error/error.hpp"
#include "sim/fabric/fabric.hpp"
#include "sim/fabric/switch_tree.hpp"
#include "tests/contract/topologies/clusters.hpp"

namespace lamina::fabric {
namespace {

using ::testing::ElementsAre;
using testing::make_cluster;

/// One leaf per node, joined by a spine.
Fabric with_leaf_per_node(const scenario::Cluster& cluster) {
  Fabric fabric = build_nodes(cluster);
  SwitchTree tree;
  tree.parent = {-1};
  tree.trunk = {BytesPerSecond(0)};
  for (int node = 0; node < cluster.nodes; ++node) {
    tree.parent.push_back(0);
    tree.trunk.push_back(BytesPerSecond(1e9));
  }
  for (const Port& port : fabric.ports) {
    tree.switch_of_port.push_back(1 + port.node);
  }
  tree.name = [](std::int32_t index) { return "leaf " + std::to_string(index - 1); };
  connect(fabric, tree);
  return fabric;
}

TEST(Route, StaysOnDeviceLinksWithinADomain) {
  const Fabric fabric = build_nodes(make_cluster({}));
  const Route found = route(fabric, 1, 6);
  EXPECT_THAT(found.links, ElementsAre(fabric.devices[1].to_domain, fabric.devices[6].from_domain));
  EXPECT_DOUBLE_EQ(found.latency.value(), testing::kDeviceLinkLatency);
}

TEST(Route, StaysOnDeviceLinksInADomainOfSeveralNodes) {
  const Fabric fabric = with_leaf_per_node(make_cluster({.nodes = 4, .devices = 4, .domain = 8, .nics = 4}));
  EXPECT_THAT(route(fabric, 0, 7).links, ElementsAre(fabric.devices[0].to_domain, fabric.devices[7].from_domain));
  EXPECT_EQ(route(fabric, 0, 8).links.size(), 4U);
}

TEST(Route, GoesOverHostPathsBetweenDomainsOfANode) {
  const Fabric fabric = build_nodes(make_cluster({.nodes = 1, .devices = 4, .domain = 1, .nics = 1}));
  const Route found = route(fabric, 0, 3);
  EXPECT_THAT(found.links, ElementsAre(fabric.devices[0].to_host, fabric.devices[3].from_host));
  EXPECT_DOUBLE_EQ(found.latency.value(), 2 * testing::kHostLatency);
}

TEST(Route, CrossesPortsAndTrunksBetweenNodes) {
  const Fabric fabric = with_leaf_per_node(make_cluster({.nodes = 3}));
  const auto first_trunk = static_cast<LinkId>(fabric.links.size()) - 6;
  const Route found = route(fabric, 3, 8 + 5);
  EXPECT_THAT(found.links, ElementsAre(fabric.ports[3].up, first_trunk, first_trunk + 3, fabric.ports[8 + 5].down));
  EXPECT_DOUBLE_EQ(found.latency.value(), testing::kPortLatency + 3 * testing::kSwitchLatency);
}

TEST(Route, IsAppendedToWhatTheBufferHolds) {
  const Fabric fabric = with_leaf_per_node(make_cluster({.nodes = 3}));
  Router router(fabric);
  std::vector<LinkId> links = {7};
  router.append(0, 1, links);
  router.append(0, 8, links);
  ASSERT_EQ(links.size(), 1U + 2 + 4);
  EXPECT_EQ(links[0], 7);
  EXPECT_EQ(links[1], fabric.devices[0].to_domain);
  EXPECT_EQ(links[3], fabric.ports[0].up);
}

TEST(Route, IsRefusedWhereThereIsNone) {
  const Fabric fabric = build_nodes(make_cluster({}));
  EXPECT_THROW((void)route(fabric, 3, 3), error::InternalError);
  EXPECT_THROW((void)route(fabric, 0, 16), error::InternalError);
  EXPECT_THROW((void)route(fabric, -1, 0), error::InternalError);
  EXPECT_THROW((void)route(fabric, 0, 8), error::InternalError);  // no network was added
}

TEST(HostRoute, IsTheDevicesHostPathInEachDirection) {
  const Fabric fabric = build_nodes(make_cluster({}));
  EXPECT_THAT(host_route(fabric, 5, true).links, ElementsAre(fabric.devices[5].to_host));
  EXPECT_THAT(host_route(fabric, 5, false).links, ElementsAre(fabric.devices[5].from_host));
  EXPECT_DOUBLE_EQ(host_route(fabric, 5, true).latency.value(), testing::kHostLatency);
  EXPECT_THROW((void)host_route(fabric, 99, true), error::InternalError);
}

}  // namespace
}  // namespace lamina::fabric
