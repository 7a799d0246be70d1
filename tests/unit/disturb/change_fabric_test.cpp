#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/disturb/disturb.hpp"
#include "sim/error/error.hpp"
#include "sim/pipeline/simulate.hpp"
#include "tests/support/random_scenario.hpp"

namespace lamina::disturb {
namespace {

using ::testing::HasSubstr;

/// Four nodes of four devices and ports, one rank on each device.
scenario::Scenario four_nodes() {
  scenario::Scenario scenario = tests::small_scenario();
  scenario.cluster.nodes = 4;
  scenario.strategy.data_parallel = 16;
  return scenario;
}

fabric::Fabric network_of(const scenario::Scenario& scenario) {
  const auto catalogs = pipeline::builtin_catalogs();
  return catalogs.topologies.find(scenario.cluster.topology.name)->implementation->build(scenario.cluster).value();
}

scenario::Scenario on_planes(int planes) {
  scenario::Scenario scenario = four_nodes();
  scenario.cluster.topology.parameters.set_number("planes", planes);
  return scenario;
}

std::vector<std::string> names(const fabric::Fabric& fabric, const fabric::Route& route) {
  std::vector<std::string> result;
  for (const fabric::LinkId link : route.links) {
    result.push_back(fabric::link_name(fabric, link));
  }
  return result;
}

TEST(FailedPort, HandsItsDevicesToTheNextPortThatIsLeft) {
  scenario::Scenario scenario = four_nodes();
  scenario.disturbances.failed_ports = {{1, 1}, {1, 2}, {3, 3}};
  const fabric::Fabric fabric = change_fabric(network_of(scenario), scenario).value();
  const auto port = [&](std::size_t device) { return fabric.devices[device].port; };
  EXPECT_EQ(port(4), 4);
  EXPECT_EQ(port(5), 7);  // 5 and 6 are gone
  EXPECT_EQ(port(6), 7);
  EXPECT_EQ(port(7), 7);
  EXPECT_EQ(port(15), 12);  // round to the first
  EXPECT_EQ(port(0), 0);
}

TEST(FailedPort, EndsWithAReasonWhenANodeOfTheLayoutHasNoPortLeft) {
  scenario::Scenario scenario = four_nodes();
  scenario.disturbances.failed_ports = {{1, 0}, {1, 1}, {1, 2}, {1, 3}};
  const auto cut_off = change_fabric(network_of(scenario), scenario);
  ASSERT_FALSE(cut_off.has_value());
  EXPECT_THAT(cut_off.error().reason, HasSubstr("All 4 network ports of node 1"));
  scenario.strategy.data_parallel = 4;  // node 0 only
  EXPECT_TRUE(change_fabric(network_of(scenario), scenario).has_value());
}

// Two planes: ports 0 and 1 on the first, 2 and 3 on the second. Device 7 of node 1 loses port 3 and goes round to port
// 0 of the other plane, so that what comes from device 3 (port 3) must leave node 0 by a device with a port on that
// plane.
TEST(FailedPort, OnAnotherPlaneIsReachedThroughADeviceOfTheSendersNode) {
  scenario::Scenario scenario = on_planes(2);
  const fabric::Fabric before = network_of(scenario);
  scenario.disturbances.failed_ports = {{1, 3}};
  const fabric::Fabric fabric = change_fabric(before, scenario).value();
  const int to = 7;
  ASSERT_NE(fabric.ports[static_cast<std::size_t>(fabric.devices[7].port)].plane, fabric.ports[3].plane);
  const auto route = names(fabric, fabric::route(fabric, 3, to));
  ASSERT_GE(route.size(), 4U);
  EXPECT_EQ(route[0], "device 3 to domain switch");
  EXPECT_THAT(route[2], HasSubstr("node 0 port"));
  EXPECT_EQ(route.back(), "node 1 port 0 down");
}

// Node 1 has the first plane only, node 0 the second only... for one of its devices: the data changes device where it
// can.
TEST(FailedPort, EveryPairOfDevicesOfNodesWithACommonPlaneHasARoute) {
  for (const int planes : {1, 2, 4}) {
    scenario::Scenario scenario = on_planes(planes);
    scenario.disturbances.failed_ports = {{0, 0}, {1, 3}, {2, 1}, {2, 2}, {3, 3}, {3, 1}};
    const fabric::Fabric fabric = change_fabric(network_of(scenario), scenario).value();
    const std::set<std::string> gone = {"node 0 port 0", "node 1 port 3", "node 2 port 1",
                                        "node 2 port 2", "node 3 port 3", "node 3 port 1"};
    for (int from = 0; from < 16; ++from) {
      for (int to = 0; to < 16; ++to) {
        if (from == to) {
          continue;
        }
        for (const std::string& name : names(fabric, fabric::route(fabric, from, to))) {
          for (const std::string& port : gone) {
            EXPECT_NE(name.rfind(port, 0), 0U) << from << " to " << to << " over " << name;
          }
        }
      }
    }
  }
}

TEST(FailedPort, EndsWithAReasonWhenTwoNodesHaveNoPlaneInCommon) {
  scenario::Scenario scenario = on_planes(2);
  const fabric::Fabric fabric = network_of(scenario);
  for (int port = 0; port < 4; ++port) {  // node 0 loses one plane, node 1 the other
    const int plane = fabric.ports[static_cast<std::size_t>(port)].plane;
    scenario.disturbances.failed_ports.push_back({plane == fabric.ports[0].plane ? 0 : 1, port});
  }
  const auto cut_off = change_fabric(fabric, scenario);
  ASSERT_FALSE(cut_off.has_value());
  EXPECT_THAT(cut_off.error().reason, HasSubstr("nodes 0 and 1"));
}

scenario::SlowLink named(const std::string& name) {
  scenario::SlowLink slow;
  slow.link = name;
  slow.profile = {{Seconds(0), 0.5}};
  return slow;
}

TEST(SlowLink, ThatCouldNeverLimitCanLimitNow) {
  scenario::Scenario scenario = four_nodes();
  scenario.cluster.topology.parameters.set_number("nodes_per_leaf", 2);
  const fabric::Fabric before = network_of(scenario);
  std::size_t trunk = 0;
  while (before.links[trunk].link_class != fabric::LinkClass::kTrunk) {
    ++trunk;
  }
  ASSERT_TRUE(before.links[trunk].never_limits);  // a non-blocking network
  const std::string name = fabric::link_name(before, static_cast<fabric::LinkId>(trunk));
  scenario.disturbances.slow_links = {named(name)};
  const fabric::Fabric after = change_fabric(before, scenario).value();
  EXPECT_FALSE(after.links[trunk].never_limits);
  EXPECT_TRUE(after.links[trunk + 1].never_limits);
}

TEST(SlowLink, OfAnUnknownNameIsAnErrorWithTheNearestName) {
  scenario::Scenario scenario = four_nodes();
  scenario::SlowLink unknown = named("node 3 port 2 upp");
  unknown.location = {"cluster.yaml", 12, 3};
  unknown.key = "disturb.4.link";
  scenario.disturbances.slow_links = {unknown};
  try {
    (void)change_fabric(network_of(scenario), scenario);
    FAIL();
  } catch (const error::ScenarioError& problem) {
    EXPECT_EQ(problem.fault().location.file, "cluster.yaml");
    EXPECT_EQ(problem.fault().location.line, 12);
    EXPECT_EQ(problem.fault().key, "disturb.4.link");
    EXPECT_EQ(problem.fault().nearest, "node 3 port 2 up");
    EXPECT_THAT(problem.fault().allowed, HasSubstr("device 0 to domain switch"));
  }
}

TEST(SlowLink, GivenByPortAndByNameIsGivenTwice) {
  scenario::Scenario scenario = four_nodes();
  scenario::SlowLink by_port = named("");
  by_port.node = 3;
  by_port.port = 2;
  scenario.disturbances.slow_links = {by_port, named("node 3 port 2 up")};
  EXPECT_THROW((void)change_fabric(network_of(scenario), scenario), error::ScenarioError);
}

}  // namespace
}  // namespace lamina::disturb
