#include "topologies/graph_file.hpp"

#include <filesystem>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/scenario/scenario_fixture.hpp"

namespace lamina::topologies {
namespace {

using scenario::fault_when;
using scenario::TemporaryFile;
using ::testing::HasSubstr;

Graph read(const std::string& text, const std::string& name = "graph.yaml") {
  const TemporaryFile file(name, text);
  return read_graph(file.path());
}

error::ScenarioFault fault_of(const std::string& text) {
  return fault_when([&] { static_cast<void>(read(text)); });
}

/// A graph of one switch and two machines, and more nodes (line 5 on) and edges after them.
std::string yaml(const std::string& nodes, const std::string& edges) {
  return "nodes:\n"                      // 1
         "  - leaf\n"                    // 2
         "  - {name: m0, machine: 0}\n"  // 3
         "  - {name: m1, machine: 1}\n"  // 4
         + nodes + "edges:\n  - {from: m0, to: leaf}\n  - {from: leaf, to: m1}\n" + edges;
}

struct Fault {
  const char* nodes;
  const char* edges;
  const char* problem;
  int line;
  const char* nearest = "";
};

TEST(GraphFile, FaultsOfAYamlGraphNameThePlace) {
  const Fault faults[] = {
      {"  - leaf\n", "", "A second node is called \"leaf\" (first in line 2).", 5},
      {"", "  - {from: leaf, to: leaf}\n", "The edge joins a node to itself.", 8},
      {"", "  - {from: leaf, to: lea}\n", "There is no such node.", 8, "leaf"},
      {"", "  - {from: leaf}\n", "The key \"to\" is missing. The name of a node.", 8},
      {"  - spine\n", "  - {from: leaf, to: spine, bandwidth: 0 GB/s}\n", "The value must not be zero.", 9},
      {"  - spine\n", "  - {from: leaf, to: spine, bandwidth: -1 GB/s}\n", "The value must not be negative.", 9},
      {"  - spine\n", "  - {from: leaf, to: spine, latency: 2 s}\n", "The value is out of range.", 9},
      {"  - spine\n", "  - {from: leaf, to: spine, bandwith: 1 GB/s}\n", "There is no such key.", 9, "bandwidth"},
      {"", "  - {from: m0, to: m1}\n", "The edge joins ports of machines to each other.", 8},
      {"  - spine\n", "  - {from: spine, to: m0}\n", "A second edge at \"m0\", which is the port of a machine.", 9},
      {"  - {name: m2, machine: 2}\n", "", "The port has no edge: nothing can reach it.", 5},
      {"  - {name: again, machine: 1}\n", "  - {from: again, to: leaf}\n", "The port of the machine is given twice.",
       5},
      {"  - {name: again, machine: 1, port: 3}\n", "  - {from: again, to: leaf}\n",
       "The port of the machine is given twice.", 5},
      {"  - {name: m2, port: 3}\n", "", "A port of no machine.", 5},
      {"  - {name: m2, machine: -1}\n", "", "The value must not be negative.", 5},
      {"  - {machine: 2}\n", "", "The key \"name\" is missing. What edges call it.", 5},
      {"  - [leaf]\n", "", "The value has the wrong type.", 5},
      {"", "  - {from: leaf, to: [m0]}\n", "The value has the wrong type.", 8},
  };
  for (const Fault& expected : faults) {
    const error::ScenarioFault fault = fault_of(yaml(expected.nodes, expected.edges));
    EXPECT_EQ(fault.problem, expected.problem) << expected.nodes << expected.edges;
    EXPECT_EQ(fault.location.line, expected.line) << expected.problem;
    EXPECT_THAT(fault.location.file, HasSubstr("graph.yaml"));
    EXPECT_EQ(fault.nearest, expected.nearest) << expected.problem;
  }
}

TEST(GraphFile, AllPortsAfterOneOfThemIsTwiceAsWell) {
  const error::ScenarioFault fault = fault_of(
      "nodes: [leaf, {name: one, machine: 0, port: 1}, {name: all, machine: 0}]\n"
      "edges: [{from: one, to: leaf}, {from: all, to: leaf}]\n");
  EXPECT_EQ(fault.problem, "The port of the machine is given twice.");
  EXPECT_EQ(fault.read, "all ports of machine 0");
}

TEST(GraphFile, ThatIsNoGraphIsRefused) {
  EXPECT_THAT(fault_of("nodes: [a]\n").problem, HasSubstr("\"edges\" is missing"));
  EXPECT_EQ(fault_of("nodes: 5\nedges: []\n").allowed, "a list");
  EXPECT_THAT(fault_of("").problem, HasSubstr("no value"));
  EXPECT_THAT(fault_of("").location.file, HasSubstr("yaml"));
  EXPECT_EQ(fault_of("nodes: [a, b\nedges: []\n").location.line, 2);
  EXPECT_THAT(fault_of(std::string("nodes: [a\0]", 11)).problem, HasSubstr("control character"));
  EXPECT_THAT(fault_when([] { static_cast<void>(read_graph("no/such/file.yaml")); }).problem,
              HasSubstr("no such file"));
}

TEST(GraphFile, OfAMillionEdgesInYamlIsRefusedWithItsSize) {
  std::string text = "nodes: [a, b]\nedges:\n";
  for (int edge = 0; edge < 1'000'000; ++edge) {
    text += "- {from: a, to: b}\n";
  }
  const error::ScenarioFault fault = fault_of(text);
  EXPECT_EQ(fault.problem, "The file is too large for a graph in YAML.");
  EXPECT_THAT(fault.allowed, HasSubstr("GraphML"));
}

std::string graphml(const std::string& content, const std::string& keys = "") {
  return "<?xml version='1.0' encoding='utf-8'?>\n"
         "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n"
         "<key id=\"d0\" for=\"node\" attr.name=\"machine\" attr.type=\"long\"/>\n"
         "<key id=\"d1\" for=\"node\" attr.name=\"port\" attr.type=\"long\"/>\n"
         "<key id=\"d2\" for=\"edge\" attr.name=\"bandwidth\" attr.type=\"string\"><default>100 "
         "Gbit/s</default></key>\n"
         "<key id=\"d3\" for=\"edge\" attr.name=\"latency\" attr.type=\"string\"/>\n"
         "<key id=\"d4\" for=\"node\" attr.name=\"colour\" attr.type=\"string\"/>\n" +
         keys + "<graph edgedefault=\"undirected\">\n" + content + "</graph>\n</graphml>\n";
}

TEST(GraphFile, GraphmlAsNetworkxWritesItIsRead) {
  const Graph graph =
      read(graphml("<edge source=\"m\" target=\"s &amp; t\"><data key=\"d2\">400 Gbit/s</data>\n"
                   "<data key=\"d3\">2 us</data></edge>\n"
                   "<node id=\"s &amp; t\"><data key=\"d4\">red</data></node>\n"
                   "<node id=\"m\"><data key=\"d0\">3</data><data key=\"d1\">1</data></node>\n"
                   "<node id=\"u\"/><edge source=\"s &amp; t\" target=\"u\"/>\n"));
  ASSERT_EQ(graph.nodes.size(), 3U);
  EXPECT_EQ(graph.nodes[0].name, "s & t");
  EXPECT_TRUE(graph.nodes[0].is_switch());
  EXPECT_EQ(graph.nodes[1].machine, 3);
  EXPECT_EQ(graph.nodes[1].port, 1);
  ASSERT_EQ(graph.edges.size(), 2U);
  EXPECT_EQ(graph.edges[0].from, 1);
  EXPECT_EQ(graph.edges[0].to, 0);
  EXPECT_EQ(graph.edges[0].bandwidth->value(), 50e9);
  EXPECT_EQ(graph.edges[0].latency.value(), 2e-6);
  EXPECT_EQ(graph.edges[1].bandwidth->value(), 12.5e9);  // the key's default
}

TEST(GraphFile, FaultsOfAGraphmlGraphAreNamed) {
  EXPECT_EQ(fault_of(graphml("<node id='a'/><node id='a'/>")).problem, "A second node is called \"a\".");
  EXPECT_EQ(fault_of(graphml("<node id='a'/><edge source='a' target='a'/>")).key, "edge a to a");
  EXPECT_EQ(fault_of(graphml("<node id='a'/><edge source='a' target='b'/>")).problem, "There is no such node.");
  EXPECT_EQ(fault_of(graphml("<node id='a'/><edge source='a'/>")).key, "edges[0].to");
  EXPECT_EQ(fault_of(graphml("<node/>")).key, "nodes[0].name");
  EXPECT_THAT(fault_of(graphml("<node id='a'><data key='d0'>first</data></node>")).read, HasSubstr("first"));
  EXPECT_EQ(
      fault_of(graphml("<node id='a'/><node id='b'/><edge source='a' target='b'><data key='d2'>400</data></edge>")).key,
      "edges[0].bandwidth");
  EXPECT_EQ(fault_of(graphml("", "<key id='d5' for='edge' attr.name='bandwith'/>")).nearest, "bandwidth");
  EXPECT_EQ(fault_of(graphml("<hyperedge/>")).problem, "Hyperedges cannot be read.");
  EXPECT_EQ(fault_of(graphml("<node id='a'><graph/></node>")).problem, "A node contains a graph.");
  EXPECT_THAT(fault_of(graphml("<edge source='a' target='b' directed='true'/>")).problem, HasSubstr("both ways"));
}

TEST(GraphFile, XmlThatIsNoGraphmlIsRefusedWithTheLine) {
  EXPECT_EQ(fault_of("<graphml>\n<graph edgedefault=>\n</graph></graphml>\n").location.line, 2);
  EXPECT_THAT(fault_of("<graphml>\n<graph edgedefault=\"undirected\">").problem, HasSubstr("This is no XML"));
  EXPECT_EQ(fault_of("<html></html>").problem, "This is no GraphML.");
  EXPECT_EQ(fault_of("<graphml></graphml>").read, "0 <graph> elements");
  EXPECT_EQ(fault_of("<graphml><graph edgedefault='directed'/></graphml>").allowed, "edgedefault=\"undirected\"");
  const error::ScenarioFault entities =
      fault_of("<?xml version='1.0'?>\n<!DOCTYPE x [<!ENTITY a \"aaaa\">]>\n<x>&a;</x>");
  EXPECT_EQ(entities.problem, "Document type declarations are not read.");
  EXPECT_EQ(entities.location.line, 2);
}

TEST(GraphFile, XmlNestedAMillionLevelsDeepIsRefused) {
  std::string text = "<!-- <x> --><a b='>'><![CDATA[ <y> ]]>\n";
  for (int level = 0; level < 1'000'000; ++level) {
    text += "<a>";
  }
  const error::ScenarioFault fault = fault_of(text);
  EXPECT_EQ(fault.problem, "The elements are nested too deeply.");
  EXPECT_EQ(fault.location.line, 2);
}

TEST(GraphFile, TheGraphmlOfThirtyThousandParallelEdgesIsRead) {
  std::string text = "<node id='a'/><node id='b'/>";
  for (int edge = 0; edge < 30'000; ++edge) {
    text += "<edge source='a' target='b'/>";
  }
  EXPECT_EQ(read(graphml(text), "graph.graphml").edges.size(), 30'000U);
}

}  // namespace
}  // namespace lamina::topologies
