#include <set>

#include <gtest/gtest.h>

#include "sim/error/error.hpp"
#include "sim/fabric/fabric.hpp"
#include "tests/contract/topologies/clusters.hpp"

namespace lamina::fabric {
namespace {

using testing::make_cluster;

const Link& link(const Fabric& fabric, LinkId id) {
  return fabric.links.at(static_cast<std::size_t>(id));
}

TEST(BuildNodes, GivesEveryDeviceAndPortALinkPerDirectionAndSharesHostPaths) {
  const Fabric fabric = build_nodes(make_cluster({.nodes = 3, .devices = 8, .domain = 8, .nics = 4}));
  ASSERT_EQ(fabric.devices.size(), 24U);
  ASSERT_EQ(fabric.ports.size(), 12U);
  EXPECT_EQ(fabric.links.size(), 2U * (24 + 24 / 2 + 12));  // device links, host paths shared by two, ports
  std::set<LinkId> used;
  for (const Device& device : fabric.devices) {
    used.insert({device.to_domain, device.from_domain, device.to_host, device.from_host});
    EXPECT_EQ(link(fabric, device.to_domain).link_class, LinkClass::kDeviceLink);
    EXPECT_EQ(link(fabric, device.from_host).link_class, LinkClass::kHostPath);
  }
  for (const Port& port : fabric.ports) {
    used.insert({port.up, port.down});
    EXPECT_EQ(link(fabric, port.up).link_class, LinkClass::kPort);
  }
  EXPECT_EQ(used.size(), fabric.links.size());
  EXPECT_EQ(*used.begin(), 0);
}

TEST(BuildNodes, LetsConsecutiveDevicesOfANodeShareHostPathsButNeverAcrossNodes) {
  const Fabric fabric =
      build_nodes(make_cluster({.nodes = 2, .devices = 3, .domain = 3, .nics = 1, .host_shared_by = 2}));
  EXPECT_EQ(fabric.devices[0].to_host, fabric.devices[1].to_host);
  EXPECT_NE(fabric.devices[1].to_host, fabric.devices[2].to_host);
  EXPECT_NE(fabric.devices[2].to_host, fabric.devices[3].to_host);
  EXPECT_EQ(fabric.devices[3].to_host, fabric.devices[4].to_host);
}

TEST(BuildNodes, DealsPortsOutInBlocks) {
  const Fabric four = build_nodes(make_cluster({.nodes = 2, .devices = 8, .domain = 8, .nics = 4}));
  for (int device = 0; device < 16; ++device) {
    const Port& port = four.ports.at(static_cast<std::size_t>(four.devices[static_cast<std::size_t>(device)].port));
    EXPECT_EQ(port.node, device / 8);
    EXPECT_EQ(port.index, device % 8 / 2);
  }
  const Fabric more = build_nodes(make_cluster({.nodes = 1, .devices = 2, .domain = 2, .nics = 4}));
  EXPECT_EQ(more.devices[1].port, 2);  // 1 x 4 / 2
  const Fabric none = build_nodes(make_cluster({.nodes = 1, .devices = 2, .domain = 2, .nics = 0}));
  EXPECT_EQ(none.devices[0].port, -1);
}

TEST(BuildNodes, FillsDomainsWithConsecutiveDevicesAcrossNodes) {
  const Fabric rack = build_nodes(make_cluster({.nodes = 5, .devices = 4, .domain = 8, .nics = 4}));
  EXPECT_EQ(rack.devices[7].domain, 0);
  EXPECT_EQ(rack.devices[8].domain, 1);
  EXPECT_EQ(rack.devices[19].domain, 2);
  const Fabric halves = build_nodes(make_cluster({.nodes = 2, .devices = 8, .domain = 4, .nics = 8}));
  EXPECT_EQ(halves.devices[3].domain, 0);
  EXPECT_EQ(halves.devices[4].domain, 1);
  EXPECT_EQ(halves.devices[8].domain, 2);
}

TEST(BuildNodes, LeavesOutLinksThatANodeLacks) {
  scenario::Cluster cluster = make_cluster({.nodes = 2, .devices = 4, .domain = 1, .nics = 4});
  cluster.node.host_path.bandwidth = BytesPerSecond(0);
  const Fabric fabric = build_nodes(cluster);
  EXPECT_EQ(fabric.devices[0].to_domain, kNoLink);
  EXPECT_EQ(fabric.devices[0].to_host, kNoLink);
  EXPECT_EQ(fabric.links.size(), 16U);
}

TEST(BuildNodes, RunsPortsAtBandwidthTimesEfficiency) {
  scenario::Cluster cluster = make_cluster({});
  cluster.network.efficiency = 0.9;
  const Fabric fabric = build_nodes(cluster);
  EXPECT_DOUBLE_EQ(link(fabric, fabric.ports[0].up).bandwidth.value(), 0.9 * testing::kPortBandwidth);
  EXPECT_DOUBLE_EQ(link(fabric, fabric.devices[0].to_domain).bandwidth.value(), testing::kDeviceLinkBandwidth);
}

TEST(BuildNodes, RefusesCountsThatNoClusterHas) {
  EXPECT_THROW((void)build_nodes(make_cluster({.nodes = 0})), error::InternalError);
  EXPECT_THROW((void)build_nodes(make_cluster({.devices = 0})), error::InternalError);
  EXPECT_THROW((void)build_nodes(make_cluster({.nics = -1})), error::InternalError);
  EXPECT_THROW((void)build_nodes(make_cluster({.nodes = 2'000'000'000})), error::InternalError);
}

}  // namespace
}  // namespace lamina::fabric
