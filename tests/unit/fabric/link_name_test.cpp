#include <set>
#include <string>

#include <gtest/gtest.h>

#include "sim/error/error.hpp"
#include "sim/fabric/fabric.hpp"
#include "tests/contract/topologies/clusters.hpp"
#include "topologies/topology.hpp"

namespace lamina::fabric {
namespace {

Fabric fat_tree(int nodes) {
  const auto catalog = topologies::builtin_topologies();
  const auto* entry = catalog.find("fat_tree");
  scenario::Cluster cluster = testing::make_cluster({.nodes = nodes, .devices = 8, .domain = 8, .nics = 4});
  cluster.topology = testing::choose(entry->info);
  cluster.topology.parameters.set_number("nodes_per_leaf", 2);
  return entry->implementation->build(cluster).value();
}

TEST(LinkName, SaysWhoseLinkItIsAndInWhichDirection) {
  const Fabric fabric = fat_tree(4);
  EXPECT_EQ(link_name(fabric, fabric.devices[9].to_domain), "device 9 to domain switch");
  EXPECT_EQ(link_name(fabric, fabric.devices[9].from_domain), "device 9 from domain switch");
  EXPECT_EQ(link_name(fabric, fabric.devices[10].from_host), "device 10 from host");
  EXPECT_EQ(link_name(fabric, fabric.ports[5].up), "node 1 port 1 up");
  EXPECT_EQ(link_name(fabric, fabric.ports[5].down), "node 1 port 1 down");
  EXPECT_EQ(link_name(fabric, static_cast<LinkId>(fabric.links.size()) - 1), "leaf 1 down");
}

TEST(LinkName, NamesASharedHostPathAfterItsFirstDevice) {
  const Fabric fabric = fat_tree(4);
  EXPECT_EQ(link_name(fabric, fabric.devices[11].to_host), "device 10 to host");
}

TEST(LinkName, IsDifferentForEveryLink) {
  const Fabric fabric = fat_tree(5);
  std::set<std::string> names;
  for (LinkId link = 0; link < static_cast<LinkId>(fabric.links.size()); ++link) {
    names.insert(link_name(fabric, link));
  }
  EXPECT_EQ(names.size(), fabric.links.size());
}

TEST(LinkName, FindsOwnersOnFabricsInAnyOrder) {
  Fabric fabric;
  fabric.links.resize(4);
  fabric.ports.resize(2);
  fabric.ports[0] = {.node = 0, .index = 0, .up = 3, .down = 0};
  fabric.ports[1] = {.node = 1, .index = 0, .up = 1, .down = 2};
  EXPECT_EQ(link_name(fabric, 3), "node 0 port 0 up");
  EXPECT_EQ(link_name(fabric, 0), "node 0 port 0 down");
  EXPECT_EQ(link_name(fabric, 2), "node 1 port 0 down");
  fabric.links[1].link_class = LinkClass::kTrunk;
  EXPECT_EQ(link_name(fabric, 1), "link 1");
}

TEST(LinkName, IsRefusedForALinkThatDoesNotExist) {
  const Fabric fabric = fat_tree(2);
  EXPECT_THROW((void)link_name(fabric, -1), error::InternalError);
  EXPECT_THROW((void)link_name(fabric, static_cast<LinkId>(fabric.links.size())), error::InternalError);
}

TEST(LinkClassName, IsDifferentForEveryClass) {
  std::set<std::string> names;
  for (int link_class = 0; link_class < kLinkClasses; ++link_class) {
    names.insert(name_of(static_cast<LinkClass>(link_class)));
  }
  EXPECT_EQ(names, (std::set<std::string>{"device link", "host path", "port", "trunk"}));
}

}  // namespace
}  // namespace lamina::fabric
