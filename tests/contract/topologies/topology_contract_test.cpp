#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/contract/topologies/clusters.hpp"
#include "topologies/topology.hpp"

namespace lamina::topologies {
namespace {

const testing::Shape kShapes[] = {
    {.nodes = 1, .devices = 8, .domain = 8, .nics = 8},  {.nodes = 3, .devices = 4, .domain = 12, .nics = 2},
    {.nodes = 5, .devices = 8, .domain = 8, .nics = 4},  {.nodes = 7, .devices = 8, .domain = 4, .nics = 1},
    {.nodes = 37, .devices = 2, .domain = 1, .nics = 2}, {.nodes = 6, .devices = 4, .domain = 8, .nics = 3},
    {.nodes = 40, .devices = 1, .domain = 1, .nics = 1}, {.nodes = 19, .devices = 3, .domain = 3, .nics = 6},
    {.nodes = 1, .devices = 1, .domain = 1, .nics = 0},  {.nodes = 2, .devices = 8, .domain = 8, .nics = 0},
    {.nodes = 1, .devices = 4, .domain = 1, .nics = 0},  {.nodes = 300, .devices = 1, .domain = 1, .nics = 1},
    {.nodes = 27, .devices = 4, .domain = 4, .nics = 4},
};

class TopologyContract : public ::testing::TestWithParam<std::string> {
 protected:
  const catalog::Catalog<Topology> catalog_ = builtin_topologies();
  const catalog::Catalog<Topology>::Entry& entry_ = *catalog_.find(GetParam());

  ~TopologyContract() override { std::filesystem::remove_all(graph_folder()); }

  /// One of its own for every test: they run at the same time.
  static std::filesystem::path graph_folder() {
    std::string test = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::replace(test.begin(), test.end(), '/', '_');
    return std::filesystem::path(::testing::TempDir()) / ("lamina_topology_contract_" + test);
  }

  /// A network for `shape`, as one would write it: leaves of four machines in a ring, or of one machine with chords and
  /// parallel cables of unequal length.
  static std::string write_graph(const testing::Shape& shape, bool small_switches) {
    const int machines = std::min(shape.nodes, 1000);
    const int leaf_size = small_switches ? 1 : 4;
    const int leaves = (machines + leaf_size - 1) / leaf_size;
    std::string nodes;
    std::string edges;
    for (int leaf = 0; leaf < leaves; ++leaf) {
      nodes += fmt::format("- leaf-{}\n", leaf);
      if (leaf > 0) {
        edges += fmt::format("- {{from: leaf-{}, to: leaf-{}, latency: {} us}}\n", leaf - 1, leaf, 0.1 * (leaf % 3));
        edges += fmt::format("- {{from: leaf-{}, to: leaf-{}, latency: 0.3 us}}\n", leaf / 2, leaf);
      }
    }
    for (int machine = 0; machine < machines && shape.nics > 0; ++machine) {
      nodes += fmt::format("- {{name: m{0}, machine: {0}}}\n", machine);
      edges += fmt::format("- {{from: m{}, to: leaf-{}}}\n", machine, machine / leaf_size);
    }
    std::filesystem::create_directories(graph_folder());
    const std::filesystem::path file =
        graph_folder() / fmt::format("{}-{}-{}-{}.yaml", shape.nodes, shape.nics, shape.devices, small_switches);
    std::ofstream(file) << "nodes:\n" << nodes << "edges: " << (edges.empty() ? "[]" : "") << '\n' << edges;
    return file.string();
  }

  /// Cluster with default parameters, or with small switches so that all levels occur.
  [[nodiscard]] scenario::Cluster cluster(const testing::Shape& shape, bool small_switches) const {
    scenario::Cluster result = testing::make_cluster(shape);
    result.topology = testing::choose(entry_.info);
    for (const catalog::ParameterSpec& spec : entry_.info.parameters) {
      if (spec.kind == catalog::ParameterKind::kFile) {
        result.topology.parameters.set_choice(spec.name, write_graph(shape, small_switches));
      }
      if (small_switches && spec.kind == catalog::ParameterKind::kInteger) {
        const int planes = shape.nics > 0 && shape.nics % 2 == 0 ? 2 : 1;  // must divide the ports
        result.topology.parameters.set_number(spec.name, spec.name == "planes" ? planes : std::min(3.0, spec.maximum));
      }
    }
    return result;
  }

  /// Calls check(fabric) for every feasible cluster; counts them.
  template <class Check>
  int for_each_fabric(Check check) const {
    int feasible = 0;
    for (const testing::Shape& shape : kShapes) {
      for (const bool small_switches : {false, true}) {
        const auto fabric = entry_.implementation->build(cluster(shape, small_switches));
        if (fabric) {
          ++feasible;
          check(*fabric);
        }
      }
    }
    return feasible;
  }
};

TEST_P(TopologyContract, RoutesEveryPairOverExistingLinksNoneTwiceWithEqualLatencyBack) {
  const int feasible = for_each_fabric([](const fabric::Fabric& fabric) {
    const int devices = static_cast<int>(fabric.devices.size());
    for (int from = 0; from < devices; ++from) {
      for (int to = 0; to < devices; ++to) {
        if (from == to) {
          continue;
        }
        const fabric::Route there = fabric::route(fabric, from, to);
        std::vector<fabric::LinkId> links = there.links;
        std::sort(links.begin(), links.end());
        ASSERT_GE(links.size(), 2U);
        ASSERT_GE(links.front(), 0);
        ASSERT_LT(links.back(), static_cast<fabric::LinkId>(fabric.links.size()));
        ASSERT_EQ(std::adjacent_find(links.begin(), links.end()), links.end());
        ASSERT_GT(there.latency.value(), 0);
        ASSERT_EQ(there.latency, fabric::route(fabric, to, from).latency);
      }
    }
  });
  EXPECT_GT(feasible, 2);
}

TEST_P(TopologyContract, NeverUsesALinkOfOneRouteInBothDirections) {
  for_each_fabric([](const fabric::Fabric& fabric) {
    const int last = static_cast<int>(fabric.devices.size()) - 1;
    if (last < 1) {
      return;
    }
    std::vector<fabric::LinkId> links = fabric::route(fabric, 0, last).links;
    const std::vector<fabric::LinkId> back = fabric::route(fabric, last, 0).links;
    links.insert(links.end(), back.begin(), back.end());
    std::sort(links.begin(), links.end());
    EXPECT_EQ(std::adjacent_find(links.begin(), links.end()), links.end());
  });
}

TEST_P(TopologyContract, GivesLinksPositiveBandwidthAndOnlyTrunksThatNeverLimit) {
  for_each_fabric([](const fabric::Fabric& fabric) {
    EXPECT_FALSE(fabric.description.empty());
    for (const fabric::Link& link : fabric.links) {
      EXPECT_GT(link.bandwidth.value(), 0);
      EXPECT_TRUE(!link.never_limits || link.link_class == fabric::LinkClass::kTrunk);
    }
  });
}

TEST_P(TopologyContract, KeepsTheDevicesOfTheCluster) {
  for (const testing::Shape& shape : kShapes) {
    const auto fabric = entry_.implementation->build(cluster(shape, false));
    if (fabric) {
      EXPECT_EQ(fabric->devices.size(), static_cast<std::size_t>(shape.nodes * shape.devices));
      EXPECT_EQ(fabric->devices.back().node, shape.nodes - 1);
    }
  }
}

TEST_P(TopologyContract, NamesEveryLinkDifferently) {
  for_each_fabric([](const fabric::Fabric& fabric) {
    std::set<std::string> names;
    for (std::size_t link = 0; link < fabric.links.size(); ++link) {
      names.insert(fabric::link_name(fabric, static_cast<fabric::LinkId>(link)));
    }
    EXPECT_EQ(names.size(), fabric.links.size());
  });
}

TEST_P(TopologyContract, BuildsTheSameFabricTwice) {
  for (const testing::Shape& shape : kShapes) {
    const auto first = entry_.implementation->build(cluster(shape, true));
    const auto second = entry_.implementation->build(cluster(shape, true));
    ASSERT_EQ(first.has_value(), second.has_value());
    if (!first) {
      EXPECT_EQ(first.error().reason, second.error().reason);
      continue;
    }
    ASSERT_EQ(first->links.size(), second->links.size());
    for (std::size_t link = 0; link < first->links.size(); ++link) {
      EXPECT_EQ(first->links[link].bandwidth, second->links[link].bandwidth);
      EXPECT_EQ(first->links[link].never_limits, second->links[link].never_limits);
    }
  }
}

TEST_P(TopologyContract, GivesNumbersWhenAClusterCannotBeWired) {
  // No ports between nodes; device-link domains of a node without any path between them; more devices than ids.
  scenario::Cluster islands = cluster({.nodes = 1, .devices = 4, .domain = 2, .nics = 1}, false);
  islands.node.host_path.bandwidth = BytesPerSecond(0);
  for (const scenario::Cluster& impossible :
       {cluster({.nodes = 3, .devices = 8, .domain = 8, .nics = 0}, false), islands,
        cluster({.nodes = 1'000'000'000, .devices = 8, .domain = 8, .nics = 8}, false)}) {
    const auto fabric = entry_.implementation->build(impossible);
    ASSERT_FALSE(fabric);
    EXPECT_THAT(fabric.error().reason, ::testing::ContainsRegex("[0-9]"));
    EXPECT_EQ(fabric.error().reason.back(), '.');
  }
}

TEST_P(TopologyContract, DocumentsItselfAndItsParameters) {
  EXPECT_FALSE(entry_.info.summary.empty());
  EXPECT_FALSE(entry_.info.source.empty());
  for (const catalog::ParameterSpec& spec : entry_.info.parameters) {
    EXPECT_FALSE(spec.help.empty()) << spec.name;
    if (spec.kind == catalog::ParameterKind::kInteger || spec.kind == catalog::ParameterKind::kNumber) {
      EXPECT_GE(std::stod(spec.default_value), spec.minimum) << spec.name;
      EXPECT_LE(std::stod(spec.default_value), spec.maximum) << spec.name;
    }
  }
}

std::vector<std::string> names() {
  std::vector<std::string> result;
  for (const catalog::PluginInfo& info : builtin_topologies().infos()) {
    result.push_back(info.name);
  }
  return result;
}

INSTANTIATE_TEST_SUITE_P(Builtin, TopologyContract, ::testing::ValuesIn(names()),
                         [](const ::testing::TestParamInfo<std::string>& parameter) { return parameter.param; });

}  // namespace
}  // namespace lamina::topologies
