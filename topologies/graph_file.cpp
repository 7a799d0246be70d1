#include "topologies/graph_file.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "sim/catalog/catalog.hpp"
#include "sim/scenario/fault.hpp"
#include "sim/scenario/reader.hpp"
#include "sim/scenario/schema_keys.hpp"
#include "sim/scenario/text_file.hpp"

namespace lamina::topologies {
namespace {

using scenario::ValueKind;

constexpr std::size_t kLargestGraph = std::size_t{32} << 20;  ///< bytes; GraphML only, YAML has the scenario's limit
constexpr double kMostMachines = 1e6;
constexpr double kMostPorts = 1024;

std::size_t at(std::int32_t index) {
  return static_cast<std::size_t>(index);
}

const scenario::Section& graph_section() {
  static const scenario::Section section = {
      "graph",
      "graph",
      "",
      "",
      {scenario::required(scenario::key("nodes", ValueKind::kSection, "A list of switches and ports.")),
       scenario::required(scenario::key("edges", ValueKind::kSection, "A list of cables."))}};
  return section;
}

const scenario::Section& node_section() {
  static const scenario::Section section = {
      "node",
      "node",
      "",
      "name",
      {scenario::required(scenario::key("name", ValueKind::kText, "What edges call it.")),
       scenario::between(0, kMostMachines - 1, scenario::key("machine", ValueKind::kInteger, "")),
       scenario::between(0, kMostPorts - 1, scenario::key("port", ValueKind::kInteger, ""))}};
  return section;
}

const scenario::Section& edge_section() {
  static const scenario::Section section = {
      "edge",
      "edge",
      "",
      "",
      {scenario::required(scenario::key("from", ValueKind::kText, "The name of a node.")),
       scenario::required(scenario::key("to", ValueKind::kText, "The name of a node.")),
       scenario::at_least(1, scenario::key("bandwidth", ValueKind::kBytesPerSecond, "")),
       scenario::between(0, kLongestCable, scenario::key("latency", ValueKind::kSeconds, ""))}};
  return section;
}

[[noreturn]] void refuse(const Graph& graph, int line, const std::string& key, const scenario::Detail& detail) {
  scenario::fail({graph.file, line, 0}, key, detail);
}

std::string name_of_edge(const Graph& graph, const GraphEdge& edge) {
  return fmt::format("edge {} to {}", graph.nodes[at(edge.from)].name, graph.nodes[at(edge.to)].name);
}

void check_ends(const Graph& graph, const GraphEdge& edge) {
  const GraphNode& from = graph.nodes[at(edge.from)];
  const GraphNode& to = graph.nodes[at(edge.to)];
  if (edge.from == edge.to) {
    refuse(graph, edge.line, name_of_edge(graph, edge),
           {"The edge joins a node to itself.", "", "two different nodes"});
  }
  if (!to.is_switch()) {
    refuse(graph, edge.line, name_of_edge(graph, edge),
           {"The edge joins ports of machines to each other.", "", "two switches, or a port and a switch"});
  }
  if (!from.is_switch() && from.edges > 1) {
    refuse(graph, edge.line, name_of_edge(graph, edge),
           {fmt::format("A second edge at \"{}\", which is the port of a machine.", from.name), "",
            "one edge for each port"});
  }
}

/// Every port once and with a cable.
void check_ports(const Graph& graph) {
  std::set<std::pair<std::int32_t, std::int32_t>> seen;
  for (const GraphNode& node : graph.nodes) {
    if (node.is_switch()) {
      continue;
    }
    const std::string key = fmt::format("node {}", node.name);
    if (node.edges == 0) {
      refuse(graph, node.line, key, {"The port has no edge: nothing can reach it.", "", "one edge for each port"});
    }
    const auto next = seen.lower_bound({node.machine, -1});  // (machine, -1) stands for all its ports
    const bool has_some = next != seen.end() && next->first == node.machine;
    const bool has_all = has_some && next->second == -1;
    if (has_all || (has_some && node.port == -1) || !seen.insert({node.machine, node.port}).second) {
      refuse(graph, node.line, key,
             {"The port of the machine is given twice.",
              node.port < 0 ? fmt::format("all ports of machine {}", node.machine)
                            : fmt::format("port {} of machine {}", node.port, node.machine),
              "every port in one node; a machine without `port` stands for all its ports"});
    }
  }
}

void read_list(const scenario::SectionReader& root, const char* key, const auto& add) {
  const scenario::Tree& list = *root.value(key);
  if (list.kind != scenario::Tree::Kind::kList) {
    root.fail_at(key, {"The value has the wrong type.", describe(list), "a list"});
  }
  for (const scenario::Tree& item : list.items) {
    add(item);
  }
}

void read_yaml(const std::string& text, const std::string& file, GraphBuilder& builder) {
  if (text.size() > scenario::kLargestFile) {
    scenario::fail({file, 0, 0}, "",
                   {"The file is too large for a graph in YAML.", fmt::format("{} bytes", text.size()),
                    fmt::format("at most {} bytes; larger graphs as GraphML", scenario::kLargestFile)});
  }
  const scenario::Tree tree = scenario::parse_yaml(text, file);
  const scenario::SectionReader root(graph_section(), tree, "");
  read_list(root, "nodes", [&](const scenario::Tree& node) { builder.add_node(node); });
  read_list(root, "edges", [&](const scenario::Tree& edge) { builder.add_edge(edge); });
}

std::vector<std::string> keys_after(const scenario::Section& section, std::size_t first) {
  std::vector<std::string> names = section.key_names();
  names.erase(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(first));
  return names;
}

}  // namespace

std::vector<std::string> graph_node_keys() {
  return keys_after(node_section(), 1);
}

std::vector<std::string> graph_edge_keys() {
  return keys_after(edge_section(), 2);
}

void GraphBuilder::add_node(const scenario::Tree& tree) {
  const std::string path = fmt::format("nodes[{}]", graph_.nodes.size());
  const scenario::SectionReader reader(node_section(), tree, path);
  GraphNode node;
  node.name = reader.text("name");
  node.machine = static_cast<std::int32_t>(reader.large_integer_or("machine", -1));
  node.port = static_cast<std::int32_t>(reader.large_integer_or("port", -1));
  node.line = tree.position.line;
  if (node.port >= 0 && node.is_switch()) {
    reader.fail_at("port", {"A port of no machine.", "", "`machine` beside `port`; neither for a switch"});
  }
  graph_.nodes.push_back(std::move(node));
}

void GraphBuilder::index_names() {
  by_name_.resize(graph_.nodes.size());
  std::iota(by_name_.begin(), by_name_.end(), 0);
  const auto name = [&](std::int32_t node) -> const std::string& { return graph_.nodes[at(node)].name; };
  std::stable_sort(by_name_.begin(), by_name_.end(), [&](auto left, auto right) { return name(left) < name(right); });
  const auto twice = std::adjacent_find(by_name_.begin(), by_name_.end(),
                                        [&](auto left, auto right) { return name(left) == name(right); });
  if (twice != by_name_.end()) {
    const GraphNode& second = graph_.nodes[at(*(twice + 1))];
    const int first_line = graph_.nodes[at(*twice)].line;
    refuse(graph_, second.line, fmt::format("nodes[{}]", *(twice + 1)),
           {fmt::format("A second node is called \"{}\"{}.", second.name,
                        first_line > 0 ? fmt::format(" (first in line {})", first_line) : "")});
  }
}

std::int32_t GraphBuilder::find(const scenario::Tree& edge, std::string_view key, const std::string& path) const {
  const scenario::TreeEntry& entry = *edge.find(key);
  const std::string& name = entry.value.text;
  const auto found =
      std::lower_bound(by_name_.begin(), by_name_.end(), name,
                       [&](std::int32_t node, const auto& wanted) { return graph_.nodes[at(node)].name < wanted; });
  if (found != by_name_.end() && graph_.nodes[at(*found)].name == name) {
    return *found;
  }
  std::vector<std::string> names;
  for (const GraphNode& node : graph_.nodes) {
    names.push_back(node.name);
  }
  scenario::fail(
      entry.value.position.location(), fmt::format("{}.{}", path, key),
      {"There is no such node.", describe(entry.value), "the name of a node", catalog::nearest_name(name, names)});
}

void GraphBuilder::add_edge(const scenario::Tree& tree) {
  if (by_name_.size() != graph_.nodes.size()) {
    index_names();
  }
  const std::string path = fmt::format("edges[{}]", graph_.edges.size());
  const scenario::SectionReader reader(edge_section(), tree, path);
  static_cast<void>(reader.text("from"));  // words, not lists
  static_cast<void>(reader.text("to"));
  GraphEdge edge;
  edge.from = find(tree, "from", path);
  edge.to = find(tree, "to", path);
  edge.line = tree.position.line;
  if (reader.has("bandwidth")) {
    edge.bandwidth = reader.quantity<BytesPerSecond>("bandwidth");
  }
  if (reader.has("latency")) {
    edge.latency = reader.quantity<Seconds>("latency");
  }
  if (!graph_.nodes[at(edge.to)].is_switch()) {
    std::swap(edge.from, edge.to);
  }
  graph_.nodes[at(edge.from)].edges += 1;
  graph_.nodes[at(edge.to)].edges += 1;
  check_ends(graph_, edge);
  graph_.edges.push_back(edge);
}

Graph GraphBuilder::take() {
  index_names();
  check_ports(graph_);
  return std::move(graph_);
}

Graph read_graph(const std::string& file) {
  const std::string text = scenario::read_text_file(file, kLargestGraph);
  scenario::check_text(text, file);
  GraphBuilder builder(file);
  const std::size_t byte_order_mark = text.starts_with("\xEF\xBB\xBF") ? 3 : 0;
  const std::size_t first = text.find_first_not_of(" \t\r\n", byte_order_mark);
  if (first != std::string::npos && text[first] == '<') {
    read_graphml(text, file, builder);
  } else {
    read_yaml(text, file, builder);
  }
  return builder.take();
}

}  // namespace lamina::topologies
