#include "sim/collectives/member_order.hpp"

#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/contract/topologies/clusters.hpp"

namespace lamina::collectives {
namespace {

using ::testing::ElementsAre;

std::vector<int> all_devices(const fabric::Fabric& fabric) {
  std::vector<int> result(fabric.devices.size());
  for (std::size_t device = 0; device < result.size(); ++device) {
    result[device] = static_cast<int>(device);
  }
  return result;
}

TEST(MemberOrder, PutsDevicesOfANodeTogether) {
  const fabric::Fabric fabric = fabric::build_nodes(testing::make_cluster({.nodes = 3, .devices = 4, .domain = 4}));
  const MemberOrder order = order_members({5, 0, 9, 4, 1, 8}, fabric);
  EXPECT_THAT(order.members, ElementsAre(1, 4, 3, 0, 5, 2));  // devices 0 1 | 4 5 | 8 9
  EXPECT_THAT(order.island_start, ElementsAre(0, 2, 4, 6));
  EXPECT_EQ(order.members_per_island(), 2);
  EXPECT_EQ(order_members({0, 1, 4}, fabric).members_per_island(), 0);
}

TEST(MemberOrder, TakesADomainOfSeveralNodesForOneIsland) {
  const fabric::Fabric fabric = fabric::build_nodes(testing::make_cluster({.nodes = 4, .devices = 4, .domain = 8}));
  EXPECT_THAT(order_members(all_devices(fabric), fabric).island_start, ElementsAre(0, 8, 16));
  const fabric::Fabric halves = fabric::build_nodes(testing::make_cluster({.nodes = 2, .devices = 4, .domain = 2}));
  EXPECT_THAT(order_members(all_devices(halves), halves).island_start, ElementsAre(0, 4, 8));
}

/// What the channels of all devices of a cluster do at the boundaries of nodes.
struct Boundaries {
  std::map<std::int32_t, int> leaving;   ///< [port]
  std::map<std::int32_t, int> entering;  ///< [port]
  int cross_rail = 0;
};

Boundaries look_at(const fabric::Fabric& fabric, const Channels& channels) {
  Boundaries result;
  for (std::int32_t channel = 0; channel < channels.count; ++channel) {
    const auto ring = channels.ring(channel);
    for (std::size_t at = 0; at < ring.size(); ++at) {
      const fabric::Device& from = fabric.devices[static_cast<std::size_t>(ring[at])];
      const fabric::Device& to = fabric.devices[static_cast<std::size_t>(ring[(at + 1) % ring.size()])];
      if (from.node != to.node) {
        ++result.leaving[from.port];
        ++result.entering[to.port];
        result.cross_rail += fabric.ports[static_cast<std::size_t>(from.port)].index !=
                             fabric.ports[static_cast<std::size_t>(to.port)].index;
      }
    }
  }
  return result;
}

TEST(Channels, UseEveryPortOnceInEachDirectionAndStayOnTheirRail) {
  for (const int nodes : {2, 3, 4, 5, 8}) {
    for (const int nics : {1, 2, 4, 8}) {
      SCOPED_TRACE(std::to_string(nodes) + " nodes, " + std::to_string(nics) + " ports");
      const fabric::Fabric fabric =
          fabric::build_nodes(testing::make_cluster({.nodes = nodes, .devices = 8, .domain = 8, .nics = nics}));
      const std::vector<int> devices = all_devices(fabric);
      const Channels channels = build_channels(order_members(devices, fabric), devices, fabric);
      ASSERT_EQ(channels.count, nics);
      const Boundaries boundaries = look_at(fabric, channels);
      EXPECT_EQ(boundaries.leaving.size(), static_cast<std::size_t>(nodes * nics));
      EXPECT_EQ(boundaries.entering.size(), static_cast<std::size_t>(nodes * nics));
      for (const auto& [port, count] : boundaries.leaving) {
        EXPECT_EQ(count, 1) << port;
      }
      for (const auto& [port, count] : boundaries.entering) {
        EXPECT_EQ(count, 1) << port;
      }
      EXPECT_EQ(boundaries.cross_rail, 0);
    }
  }
}

TEST(Channels, CrossRailsOnceWhereTwoPortsOfOneDeviceEachMeetAnOddNumberOfNodes) {
  const fabric::Fabric fabric =
      fabric::build_nodes(testing::make_cluster({.nodes = 3, .devices = 2, .domain = 2, .nics = 2}));
  const std::vector<int> devices = all_devices(fabric);
  const Boundaries boundaries = look_at(fabric, build_channels(order_members(devices, fabric), devices, fabric));
  EXPECT_EQ(boundaries.cross_rail, 2);  // one edge of each of the two channels
  EXPECT_EQ(boundaries.leaving.size(), 6U);
  EXPECT_EQ(boundaries.entering.size(), 6U);
}

TEST(Channels, VisitEveryMemberOnceAndEveryNodeInOneGo) {
  const std::vector<int> uneven = {0, 1, 2, 3, 9, 16, 17, 23, 30, 31};
  const fabric::Fabric fabric =
      fabric::build_nodes(testing::make_cluster({.nodes = 4, .devices = 8, .domain = 8, .nics = 4}));
  for (const std::vector<int>& devices : {uneven, all_devices(fabric), std::vector<int>{0, 1, 8, 9}}) {
    const MemberOrder order = order_members(devices, fabric);
    const Channels channels = build_channels(order, devices, fabric);
    for (std::int32_t channel = 0; channel < channels.count; ++channel) {
      const auto ring = channels.ring(channel);
      EXPECT_EQ(std::set<std::int32_t>(ring.begin(), ring.end()).size(), devices.size());
      int boundaries = 0;
      for (std::size_t at = 0; at < ring.size(); ++at) {
        const auto node = [&](std::size_t position) {
          return fabric
              .devices[static_cast<std::size_t>(devices[static_cast<std::size_t>(ring[position % ring.size()])])]
              .node;
        };
        boundaries += node(at) != node(at + 1);
      }
      EXPECT_EQ(boundaries, order.islands());
    }
  }
}

TEST(Channels, AreOneInADomainAndWithOneDevicePerNode) {
  const fabric::Fabric fabric =
      fabric::build_nodes(testing::make_cluster({.nodes = 4, .devices = 8, .domain = 8, .nics = 8}));
  for (const std::vector<int>& devices : {std::vector<int>{0, 1, 2, 3}, {0, 8, 16, 24}}) {
    EXPECT_EQ(build_channels(order_members(devices, fabric), devices, fabric).count, 1);
  }
}

}  // namespace
}  // namespace lamina::collectives
