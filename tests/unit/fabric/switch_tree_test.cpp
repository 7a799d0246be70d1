#include "sim/fabric/switch_tree.hpp"

#include <algorithm>
#include <limits>
#include <queue>
#include <random>
#include <utility>

#include <gtest/gtest.h>

#include "sim/error/error.hpp"
#include "tests/contract/topologies/clusters.hpp"

namespace lamina::fabric {
namespace {

constexpr double kUnlimited = 1e18;

/// Edmonds and Karp on a small dense graph.
double maximum_flow(std::vector<std::vector<double>> capacity, std::size_t source, std::size_t sink) {
  double total = 0;
  while (true) {
    std::vector<std::size_t> before(capacity.size(), capacity.size());
    std::queue<std::size_t> queue;
    queue.push(source);
    before[source] = source;
    while (!queue.empty() && before[sink] == capacity.size()) {
      const std::size_t at = queue.front();
      queue.pop();
      for (std::size_t next = 0; next < capacity.size(); ++next) {
        if (before[next] == capacity.size() && capacity[at][next] > 1e-9) {
          before[next] = at;
          queue.push(next);
        }
      }
    }
    if (before[sink] == capacity.size()) {
      return total;
    }
    double step = std::numeric_limits<double>::max();
    for (std::size_t at = sink; at != source; at = before[at]) {
      step = std::min(step, capacity[before[at]][at]);
    }
    for (std::size_t at = sink; at != source; at = before[at]) {
      capacity[before[at]][at] -= step;
      capacity[at][before[at]] += step;
    }
    total += step;
  }
}

/// The most traffic between ports that can cross `link` when only ports and unmarked trunks limit it, and not `link`
/// itself: maximum flow through the links of all port-to-port routes over it. In a tree every path through that graph
/// is a route.
double most_traffic_over(const Fabric& fabric, LinkId link) {
  const std::size_t links = fabric.links.size();
  std::vector<std::vector<double>> capacity(2 * links + 2, std::vector<double>(2 * links + 2, 0.0));
  for (std::size_t id = 0; id < links; ++id) {  // vertex 2 id: entry, 2 id + 1: exit
    const bool free = fabric.links[id].never_limits || static_cast<LinkId>(id) == link;
    capacity[2 * id][2 * id + 1] = free ? kUnlimited : fabric.links[id].bandwidth.value();
  }
  const auto ports = static_cast<std::int32_t>(fabric.ports.size());
  for (std::int32_t from = 0; from < ports; ++from) {
    for (std::int32_t to = 0; to < ports; ++to) {
      NetworkHop hop;
      if (from != to) {
        fabric.network_route(from, to, hop);
      }
      if (std::find(hop.links.begin(), hop.links.end(), link) == hop.links.end()) {
        continue;
      }
      std::size_t last = 2 * links;
      hop.links.insert(hop.links.begin(), fabric.ports[static_cast<std::size_t>(from)].up);
      hop.links.push_back(fabric.ports[static_cast<std::size_t>(to)].down);
      for (const LinkId next : hop.links) {
        capacity[last][2 * static_cast<std::size_t>(next)] = kUnlimited;
        last = 2 * static_cast<std::size_t>(next) + 1;
      }
      capacity[last][2 * links + 1] = kUnlimited;
    }
  }
  return maximum_flow(std::move(capacity), 2 * links, 2 * links + 1);
}

Fabric random_fabric(std::mt19937& random) {
  const auto draw = [&random](int least, int most) { return std::uniform_int_distribution<int>(least, most)(random); };
  Fabric fabric =
      build_nodes(testing::make_cluster({.nodes = draw(2, 8), .devices = 1, .domain = 1, .nics = draw(1, 2)}));
  for (Port& port : fabric.ports) {
    fabric.links[static_cast<std::size_t>(port.up)].bandwidth = BytesPerSecond(draw(1, 3));
    fabric.links[static_cast<std::size_t>(port.down)].bandwidth = BytesPerSecond(draw(1, 3));
  }
  SwitchTree tree;
  const int switches = draw(2, 7);
  for (int index = 0; index < switches; ++index) {
    tree.parent.push_back(index == 0 ? -1 : draw(0, index - 1));
    tree.trunk.push_back(BytesPerSecond(draw(1, 6)));
  }
  for (std::size_t port = 0; port < fabric.ports.size(); ++port) {
    tree.switch_of_port.push_back(draw(0, switches - 1));
  }
  tree.name = [](std::int32_t index) { return "switch " + std::to_string(index); };
  connect(fabric, tree);
  return fabric;
}

TEST(SwitchTree, MarksExactlyTheTrunksWhoseLimitFollowsFromTheOthers) {
  std::mt19937 random(20210604);
  int marked = 0;
  int unmarked = 0;
  for (int round = 0; round < 150; ++round) {
    const Fabric fabric = random_fabric(random);
    for (LinkId id = 0; id < static_cast<LinkId>(fabric.links.size()); ++id) {
      const Link& link = fabric.links[static_cast<std::size_t>(id)];
      if (link.link_class != LinkClass::kTrunk) {
        EXPECT_FALSE(link.never_limits);
        continue;
      }
      const double most = most_traffic_over(fabric, id);
      (link.never_limits ? marked : unmarked) += 1;
      if (link.never_limits) {
        EXPECT_LE(most, link.bandwidth.value() * (1 + 1e-9)) << "round " << round << " " << link_name(fabric, id);
      } else {
        EXPECT_GT(most, link.bandwidth.value()) << "round " << round << " " << link_name(fabric, id);
      }
    }
  }
  EXPECT_GT(marked, 100);  // both kinds occur
  EXPECT_GT(unmarked, 100);
}

/// Two leaves of two nodes with one port of 25 GB/s each under a spine.
Fabric two_leaves(double trunk) {
  Fabric fabric = build_nodes(testing::make_cluster({.nodes = 4, .devices = 1, .domain = 1, .nics = 1}));
  SwitchTree tree{.parent = {-1, 0, 0},
                  .trunk = {BytesPerSecond(0), BytesPerSecond(trunk), BytesPerSecond(trunk)},
                  .switch_of_port = {1, 1, 2, 2},
                  .name = [](std::int32_t index) { return "leaf " + std::to_string(index - 1); }};
  connect(fabric, tree);
  return fabric;
}

int count_unmarked_trunks(const Fabric& fabric) {
  return static_cast<int>(std::count_if(fabric.links.begin(), fabric.links.end(), [](const Link& link) {
    return link.link_class == LinkClass::kTrunk && !link.never_limits;
  }));
}

TEST(SwitchTree, KeepsOneOfTwoTrunksThatImplyEachOther) {
  EXPECT_EQ(count_unmarked_trunks(two_leaves(20e9)), 2);  // leaf 0 up = leaf 1 down, leaf 1 up = leaf 0 down
  EXPECT_EQ(count_unmarked_trunks(two_leaves(50e9)), 0);
}

TEST(SwitchTree, SumsOfManyEqualPortsFillTheirTrunkExactly) {
  Fabric fabric = build_nodes(testing::make_cluster({.nodes = 3000, .devices = 1, .domain = 1, .nics = 1}));
  for (Port& port : fabric.ports) {
    fabric.links[static_cast<std::size_t>(port.up)].bandwidth = BytesPerSecond(0.1e9);
    fabric.links[static_cast<std::size_t>(port.down)].bandwidth = BytesPerSecond(0.1e9);
  }
  SwitchTree tree;
  tree.parent = {-1, 0, 0, 0};
  tree.trunk.assign(4, BytesPerSecond(0.1e9) * 1000.0);
  for (std::int32_t port = 0; port < 3000; ++port) {
    tree.switch_of_port.push_back(1 + port / 1000);
  }
  connect(fabric, tree);
  EXPECT_EQ(count_unmarked_trunks(fabric), 0);
}

TEST(SwitchTree, IsRefusedWhenItDoesNotFitTheFabric) {
  Fabric fabric = build_nodes(testing::make_cluster({.nodes = 2, .devices = 1, .domain = 1, .nics = 1}));
  SwitchTree short_of_ports{.parent = {-1}, .trunk = {BytesPerSecond(1)}, .switch_of_port = {0}, .name = nullptr};
  EXPECT_THROW(connect(fabric, short_of_ports), error::InternalError);
  SwitchTree child_first{.parent = {-1, 2, 0},
                         .trunk = std::vector<BytesPerSecond>(3, BytesPerSecond(1)),
                         .switch_of_port = {1, 2},
                         .name = nullptr};
  EXPECT_THROW(connect(fabric, child_first), error::InternalError);
  SwitchTree no_such_switch{.parent = {-1}, .trunk = {BytesPerSecond(1)}, .switch_of_port = {0, 1}, .name = nullptr};
  EXPECT_THROW(connect(fabric, no_such_switch), error::InternalError);
}

}  // namespace
}  // namespace lamina::fabric
