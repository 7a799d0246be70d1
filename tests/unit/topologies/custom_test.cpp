#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/contract/topologies/clusters.hpp"
#include "tests/unit/scenario/scenario_fixture.hpp"
#include "topologies/graph_routing.hpp"
#include "topologies/topology.hpp"

namespace lamina::topologies {
namespace {

using scenario::fault_when;
using scenario::TemporaryFile;
using ::testing::HasSubstr;

tl::expected<fabric::Fabric, error::Infeasible> try_build(const std::string& file, const testing::Shape& shape,
                                                          double efficiency = 1) {
  const auto catalog = builtin_topologies();
  const auto* entry = catalog.find("custom");
  scenario::Cluster cluster = testing::make_cluster(shape);
  cluster.network.efficiency = efficiency;
  cluster.topology = testing::choose(entry->info);
  cluster.topology.parameters.set_choice("file", file);
  return entry->implementation->build(cluster);
}

testing::Shape machines(int count, int ports = 1) {
  return {.nodes = count, .devices = ports, .domain = ports, .nics = ports};
}

std::vector<std::string> names_of_route(const fabric::Fabric& fabric, int from, int to) {
  std::vector<std::string> names;
  for (const fabric::LinkId link : fabric::route(fabric, from, to).links) {
    names.push_back(fabric::link_name(fabric, link));
  }
  return names;
}

/// Two leaves, joined directly by a long cable and by `spines` spines.
std::string leaf_spine(int spines, const std::string& direct = "") {
  std::string text = "nodes: [leaf-0, leaf-1, {name: m0, machine: 0}, {name: m1, machine: 1}";
  std::string edges = "- {from: m0, to: leaf-0}\n- {from: leaf-1, to: m1}\n" + direct;
  for (int spine = 0; spine < spines; ++spine) {
    text += fmt::format(", spine-{}", spine);
    edges += fmt::format("- {{from: leaf-0, to: spine-{0}}}\n- {{from: spine-{0}, to: leaf-1}}\n", spine);
  }
  return text + "]\nedges:\n" + edges;
}

TEST(CustomGraph, TakesTheRouteOfFewestSwitches) {
  const TemporaryFile file("graph.yaml", leaf_spine(1, "- {from: leaf-0, to: leaf-1, latency: 90 ms}\n"));
  const fabric::Fabric fabric = try_build(file.path(), machines(2)).value();
  EXPECT_EQ(names_of_route(fabric, 0, 1),
            (std::vector<std::string>{"node 0 port 0 up", "leaf-0 to leaf-1", "node 1 port 0 down"}));
  EXPECT_NEAR(fabric::route(fabric, 0, 1).latency.value(), testing::kPortLatency + 2 * testing::kSwitchLatency + 0.09,
              1e-12);
  EXPECT_EQ(fabric.description, "graph graph.yaml, 3 switches, 3 cables between them");
}

TEST(CustomGraph, ThenOfLeastLatencyToAPicosecond) {
  const TemporaryFile file("graph.yaml",
                           "nodes: [a, b, near, far, {name: m0, machine: 0}, {name: m1, machine: 1}]\n"
                           "edges:\n"
                           "- {from: m0, to: a, latency: 1 us}\n"
                           "- {from: m1, to: b, latency: 2 us}\n"
                           "- {from: a, to: far, latency: 10.001 ns}\n"
                           "- {from: far, to: b, latency: 10 ns}\n"
                           "- {from: a, to: near, latency: 10 ns}\n"
                           "- {from: near, to: b, latency: 10 ns}\n");
  const fabric::Fabric fabric = try_build(file.path(), machines(2)).value();
  EXPECT_EQ(names_of_route(fabric, 0, 1)[1], "a to near");
  EXPECT_EQ(names_of_route(fabric, 1, 0)[1], "b to near");
  EXPECT_NEAR(fabric::route(fabric, 0, 1).latency.value(),
              testing::kPortLatency + 3 * testing::kSwitchLatency + 3e-6 + 20e-9, 1e-12);
}

TEST(CustomGraph, GivesEdgesTheirBandwidthTimesTheEfficiencyAndOthersThatOfTheNetwork) {
  const TemporaryFile file("graph.yaml",
                           "nodes: [s, t, {name: m0, machine: 0}, {name: m1, machine: 1}]\n"
                           "edges:\n"
                           "- {from: m0, to: s, bandwidth: 10 GB/s}\n"
                           "- {from: m1, to: t}\n"
                           "- {from: t, to: s, bandwidth: 400 Gbit/s}\n"
                           "- {from: s, to: t}\n");
  const fabric::Fabric fabric = try_build(file.path(), machines(2), 0.5).value();
  std::map<std::string, double> bandwidth;
  for (std::size_t link = 0; link < fabric.links.size(); ++link) {
    bandwidth[fabric::link_name(fabric, static_cast<fabric::LinkId>(link))] = fabric.links[link].bandwidth.value();
  }
  const double usual = 0.5 * testing::kPortBandwidth;
  EXPECT_DOUBLE_EQ(bandwidth.at("node 0 port 0 up"), 5e9);
  EXPECT_DOUBLE_EQ(bandwidth.at("node 0 port 0 down"), 5e9);
  EXPECT_DOUBLE_EQ(bandwidth.at("node 1 port 0 up"), usual);
  EXPECT_DOUBLE_EQ(bandwidth.at("t to s"), 25e9);
  EXPECT_DOUBLE_EQ(bandwidth.at("s to t"), 25e9);
  EXPECT_DOUBLE_EQ(bandwidth.at("s to t cable 1"), usual);
}

TEST(CustomGraph, DealsFlowsOutToEqualPathsByTheDocumentedHash) {
  // The first value that SplitMix64 yields from seed 0 is published with java.util.SplittableRandom and in many ports.
  EXPECT_EQ(hash_flow(0, 0), 0xE220A8397B1DCDAFULL);
  std::string text = "nodes: [in, out, a, b, c, d";
  std::string edges =
      "- {from: in, to: a}\n- {from: in, to: b}\n- {from: in, to: c}\n- {from: in, to: d}\n"
      "- {from: a, to: out}\n- {from: b, to: out}\n- {from: c, to: out}\n- {from: d, to: out}\n";
  constexpr int kMachines = 64;
  for (int machine = 0; machine < kMachines; ++machine) {
    text += fmt::format(", {{name: m{0}, machine: {0}}}", machine);
    edges += fmt::format("- {{from: m{}, to: {}}}\n", machine, machine < kMachines / 2 ? "in" : "out");
  }
  const TemporaryFile file("graph.yaml", text + "]\nedges:\n" + edges);
  const fabric::Fabric fabric = try_build(file.path(), machines(kMachines)).value();
  std::map<std::string, int> flows;
  for (int from = 0; from < kMachines / 2; ++from) {
    for (int to = kMachines / 2; to < kMachines; ++to) {
      ++flows[names_of_route(fabric, from, to)[1]];
    }
  }
  // 1,024 flows over 4 paths: binomial with deviation 13.9; five deviations.
  ASSERT_EQ(flows.size(), 4U);
  for (const auto& [name, count] : flows) {
    EXPECT_NEAR(count, 256, 70) << name;
  }
}

TEST(CustomGraph, SpreadsFlowsAgainAtTheNextSwitch) {
  // Without the switch in the hash, flows that take the first of two cables here would all take the first there, too.
  std::string text = "nodes: [in, a0, a1, middle, b0, b1, out, {name: sink, machine: 0}";
  std::string edges =
      "- {from: sink, to: out}\n- {from: in, to: a0}\n- {from: in, to: a1}\n- {from: a0, to: middle}\n"
      "- {from: a1, to: middle}\n- {from: middle, to: b0}\n- {from: middle, to: b1}\n"
      "- {from: b0, to: out}\n- {from: b1, to: out}\n";
  for (int machine = 1; machine < 65; ++machine) {
    text += fmt::format(", {{name: m{0}, machine: {0}}}", machine);
    edges += fmt::format("- {{from: m{}, to: in}}\n", machine);
  }
  const TemporaryFile file("graph.yaml", text + "]\nedges:\n" + edges);
  const fabric::Fabric fabric = try_build(file.path(), machines(65)).value();
  std::set<std::string> ways;
  for (int machine = 1; machine < 65; ++machine) {
    const auto names = names_of_route(fabric, machine, 0);
    ways.insert(names[1] + names[3]);
  }
  EXPECT_EQ(ways.size(), 4U);
}

TEST(CustomGraph, UsesAPartOfAGraphThatHasMoreMachines) {
  const TemporaryFile file("graph.yaml",
                           "nodes: [s, {name: m0, machine: 0}, {name: m1, machine: 1}, {name: m2, machine: 2}]\n"
                           "edges: [{from: m0, to: s}, {from: m1, to: s}, {from: m2, to: s}]\n");
  const fabric::Fabric fabric = try_build(file.path(), machines(2, 4)).value();
  EXPECT_EQ(fabric.description, "graph graph.yaml, 1 switch, 0 cables between them, 2 of 3 machines used");
  EXPECT_EQ(names_of_route(fabric, 0, 7), (std::vector<std::string>{"node 0 port 0 up", "node 1 port 3 down"}));
}

TEST(CustomGraph, NamesThePortThatItLacks) {
  const TemporaryFile file("graph.yaml",
                           "nodes: [s, {name: m0, machine: 0}, {name: m1, machine: 1, port: 0}]\n"
                           "edges: [{from: m0, to: s}, {from: m1, to: s}]\n");
  const auto fabric = try_build(file.path(), machines(2, 2));
  ASSERT_FALSE(fabric);
  EXPECT_THAT(fabric.error().reason, HasSubstr("has no port 1 of machine 1; the cluster has 2 machines with 2 ports"));
}

TEST(CustomGraph, OfPartsThatAreNotJoinedNamesOnePortOfEach) {
  const TemporaryFile file("graph.yaml",
                           "nodes: [s, t, {name: here, machine: 0},\n"
                           "  {name: there, machine: 1}]\n"
                           "edges: [{from: here, to: s}, {from: there, to: t}]\n");
  const error::ScenarioFault fault = fault_when([&] { static_cast<void>(try_build(file.path(), machines(2))); });
  EXPECT_EQ(fault.problem, "No edges lead from \"here\" to \"there\".");
  EXPECT_EQ(fault.location.file, file.path());
  EXPECT_EQ(fault.location.line, 2);
}

TEST(CustomGraph, OfAThousandSwitchesIsBuiltAndRoutedInSeconds) {
  // A random-like graph: a ring of 1,000 switches of 4 machines with chords, as GraphML.
  std::string text = "<graphml><key id='m' for='node' attr.name='machine'/><graph edgedefault='undirected'>";
  for (int node = 0; node < 1000; ++node) {
    text += fmt::format("<node id='s{}'/>", node);
  }
  for (int machine = 0; machine < 4000; ++machine) {
    text += fmt::format("<node id='m{0}'><data key='m'>{0}</data></node><edge source='m{0}' target='s{1}'/>", machine,
                        machine / 4);
  }
  for (int node = 0; node < 1000; ++node) {
    for (const int step : {1, 17, 131}) {
      text += fmt::format("<edge source='s{}' target='s{}'/>", node, (node + step) % 1000);
    }
  }
  const TemporaryFile file("graph.graphml", text + "</graph></graphml>");
  const auto start = std::chrono::steady_clock::now();
  const fabric::Fabric fabric = try_build(file.path(), machines(4000)).value();
  fabric::Router router(fabric);
  std::vector<fabric::LinkId> links;
  for (int from = 0; from < 4000; ++from) {
    for (int to = from % 100; to < 4000; to += 100) {
      if (from != to) {
        router.append(from, to, links);
        links.clear();
      }
    }
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  EXPECT_LT(seconds.count(), 5.0);  // under one on an idle core
}

}  // namespace
}  // namespace lamina::topologies
