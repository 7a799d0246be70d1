#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/contract/topologies/clusters.hpp"
#include "topologies/topology.hpp"

namespace lamina::topologies {
namespace {

tl::expected<fabric::Fabric, error::Infeasible> build(const testing::Shape& shape) {
  const auto catalog = builtin_topologies();
  const auto* entry = catalog.find("nvlink_switch");
  scenario::Cluster cluster = testing::make_cluster(shape);
  cluster.topology = testing::choose(entry->info);
  return entry->implementation->build(cluster);
}

TEST(NvlinkSwitch, JoinsTheDevicesOfOneDomainWithoutAnyNetwork) {
  const auto rack = build({.nodes = 18, .devices = 4, .domain = 72, .nics = 4});
  ASSERT_TRUE(rack);
  EXPECT_TRUE(rack->ports.empty());
  EXPECT_EQ(rack->devices.front().port, -1);
  EXPECT_EQ(fabric::route(*rack, 0, 71).links.size(), 2U);
  EXPECT_EQ(rack->description, "one device-link domain of 72 devices, 18 nodes, no network");
}

TEST(NvlinkSwitch, IsInfeasibleForMoreDevicesThanADomainHolds) {
  const auto two_nodes = build({.nodes = 2, .devices = 8, .domain = 8});
  ASSERT_FALSE(two_nodes);
  EXPECT_THAT(two_nodes.error().reason, ::testing::HasSubstr("8 devices of one domain"));
  EXPECT_THAT(two_nodes.error().reason, ::testing::HasSubstr("16 devices in 2 nodes"));
  EXPECT_FALSE(build({.nodes = 1, .devices = 8, .domain = 4}));
}

TEST(NvlinkSwitch, IsContentWithASingleDevice) {
  EXPECT_TRUE(build({.nodes = 1, .devices = 1, .domain = 1}));
}

}  // namespace
}  // namespace lamina::topologies
