#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/error/error.hpp"
#include "sim/scenario/tree.hpp"
#include "sim/units/quantity.hpp"

/// Networks that users write down: switches, the network ports of machines, and the cables between them.
namespace lamina::topologies {

struct GraphNode {
  std::string name;
  std::int32_t machine = -1;  ///< -1: a switch; otherwise one port of that machine, or all
  std::int32_t port = -1;     ///< within the machine; -1: all its ports, one cable each
  std::int32_t edges = 0;     ///< cables at this node
  int line = 0;               ///< in the file; 0: unknown

  [[nodiscard]] bool is_switch() const { return machine < 0; }
};

/// A cable: the same bandwidth in both directions.
struct GraphEdge {
  std::int32_t from = 0;  ///< node numbers; a node of ports is always `from`
  std::int32_t to = 0;
  std::optional<BytesPerSecond> bandwidth;  ///< on the wire; absent: that of the cluster's network
  Seconds latency{0};                       ///< of the cable
  int line = 0;
};

struct Graph {
  std::string file;
  std::vector<GraphNode> nodes;
  std::vector<GraphEdge> edges;
};

/// Largest latency of a cable, in seconds (20,000 km of fibre); far from where the routing's cost would overflow.
inline constexpr double kLongestCable = 0.1;

/// Reads a graph in YAML or GraphML (told apart by the first character). docs/topologies.md describes both.
/// @throws ScenarioError, with the line where it is known: syntax, unknown or missing keys, a name or port twice, edges
///   to nodes that do not exist, from a node to itself or between ports, ports with no cable or several, bandwidths
///   below 1 B/s, files that are too large; EnvironmentError: unreadable file
[[nodiscard]] Graph read_graph(const std::string& file);

/// Collects a graph from trees as they are read. Keys of a node: name, machine, port; of an edge: from, to, bandwidth,
/// latency.
class GraphBuilder {
 public:
  explicit GraphBuilder(const std::string& file) { graph_.file = file; }

  /// @throws ScenarioError
  void add_node(const scenario::Tree& tree);
  /// After all nodes. @throws ScenarioError
  void add_edge(const scenario::Tree& tree);
  /// Checks what can be known at the end. @throws ScenarioError
  [[nodiscard]] Graph take();

 private:
  void index_names();
  [[nodiscard]] std::int32_t find(const scenario::Tree& edge, std::string_view key, const std::string& path) const;

  Graph graph_;
  std::vector<std::int32_t> by_name_;  ///< node numbers, sorted by name, once the first edge was read
};

/// The graph of a GraphML text, node by node and edge by edge into `builder`. Data of nodes and edges are found by the
/// `attr.name` of their key; names that no key resembles are left to other tools.
/// @throws ScenarioError
void read_graphml(const std::string& text, const std::string& file, GraphBuilder& builder);

/// Keys that nodes and edges may have, in YAML and as `attr.name` in GraphML.
[[nodiscard]] std::vector<std::string> graph_node_keys();
[[nodiscard]] std::vector<std::string> graph_edge_keys();

}  // namespace lamina::topologies
