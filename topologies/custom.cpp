#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "sim/scenario/fault.hpp"
#include "topologies/graph_file.hpp"
#include "topologies/graph_routing.hpp"
#include "topologies/network.hpp"
#include "topologies/topology.hpp"

namespace lamina::topologies {
namespace {

std::size_t at(std::int32_t index) {
  return static_cast<std::size_t>(index);
}

/// What the route function needs, shared by the copies of a fabric.
struct Wiring {
  std::vector<std::int32_t> switch_of_port;  ///< [port of the fabric]
  std::vector<Seconds> cable_of_port;        ///< [port of the fabric]
  std::vector<std::string> switch_names;
  std::vector<Arc> arcs;               ///< two for each cable, one after the other: link ids are in this order
  std::vector<std::int32_t> parallel;  ///< [arc] cables before it between the same switches
  fabric::LinkId first_link = 0;
  std::unique_ptr<const GraphRouting> routing;

  [[nodiscard]] std::string name(fabric::LinkId link) const;
};

/// Parallel cables are told apart by a number.
std::string Wiring::name(fabric::LinkId link) const {
  const std::int32_t index = link - first_link;
  if (index < 0 || at(index) >= arcs.size()) {
    return fmt::format("link {}", link);
  }
  const Arc& arc = arcs[at(index)];
  const std::string text = fmt::format("{} to {}", switch_names[at(arc.from)], switch_names[at(arc.to)]);
  return parallel[at(index)] == 0 ? text : fmt::format("{} cable {}", text, parallel[at(index)]);
}

/// Switches numbered among themselves; -1 for ports.
std::vector<std::int32_t> number_switches(const Graph& graph, Wiring& wiring) {
  std::vector<std::int32_t> numbers(graph.nodes.size(), -1);
  for (std::size_t node = 0; node < graph.nodes.size(); ++node) {
    if (graph.nodes[node].is_switch()) {
      numbers[node] = static_cast<std::int32_t>(wiring.switch_names.size());
      wiring.switch_names.push_back(graph.nodes[node].name);
    }
  }
  return numbers;
}

/// Which edge each port of the fabric hangs on; Infeasible when the graph lacks one.
tl::expected<std::vector<std::int32_t>, error::Infeasible> find_ports(const Graph& graph,
                                                                      const scenario::Cluster& cluster) {
  const std::int32_t nics = cluster.node.nics;
  std::vector<std::int32_t> edge_of_port(at(cluster.nodes) * at(nics), -1);
  for (std::size_t index = 0; index < graph.edges.size(); ++index) {
    const GraphNode& node = graph.nodes[at(graph.edges[index].from)];
    if (node.is_switch() || node.machine >= cluster.nodes || node.port >= nics) {
      continue;
    }
    const auto first = edge_of_port.begin() + std::int64_t{node.machine} * nics;
    if (node.port >= 0) {
      *(first + node.port) = static_cast<std::int32_t>(index);
    } else {
      std::fill_n(first, nics, static_cast<std::int32_t>(index));
    }
  }
  const auto missing = std::find(edge_of_port.begin(), edge_of_port.end(), -1);
  if (missing != edge_of_port.end()) {
    const auto port = missing - edge_of_port.begin();
    return tl::unexpected(error::Infeasible{
        fmt::format("The graph of {} has no port {} of machine {}; the cluster has {} machines with {} "
                    "ports each, counted from 0.",
                    graph.file, port % nics, port / nics, cluster.nodes, nics)});
  }
  return edge_of_port;
}

void hang_ports(fabric::Fabric& fabric, const Graph& graph, const std::vector<std::int32_t>& edge_of_port,
                const std::vector<std::int32_t>& switches, double efficiency, Wiring& wiring) {
  for (std::size_t port = 0; port < fabric.ports.size(); ++port) {
    const GraphEdge& edge = graph.edges[at(edge_of_port[port])];
    wiring.switch_of_port.push_back(switches[at(edge.to)]);
    wiring.cable_of_port.push_back(edge.latency);
    if (edge.bandwidth) {
      fabric.links[at(fabric.ports[port].up)].bandwidth = *edge.bandwidth * efficiency;
      fabric.links[at(fabric.ports[port].down)].bandwidth = *edge.bandwidth * efficiency;
    }
  }
}

void add_trunks(fabric::Fabric& fabric, const Graph& graph, const std::vector<std::int32_t>& switches,
                const scenario::Network& network, Wiring& wiring) {
  wiring.first_link = static_cast<fabric::LinkId>(fabric.links.size());
  std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t> seen;
  for (const GraphEdge& edge : graph.edges) {
    if (!graph.nodes[at(edge.from)].is_switch()) {
      continue;
    }
    fabric::Link link;
    link.link_class = fabric::LinkClass::kTrunk;
    link.bandwidth = edge.bandwidth.value_or(network.bandwidth) * network.efficiency;
    for (const bool back : {false, true}) {
      const auto id = static_cast<fabric::LinkId>(fabric.links.size());
      fabric.links.push_back(link);
      wiring.arcs.push_back(
          {switches[at(back ? edge.to : edge.from)], switches[at(back ? edge.from : edge.to)], id, edge.latency});
      wiring.parallel.push_back(seen[{wiring.arcs.back().from, wiring.arcs.back().to}]++);
    }
  }
}

/// @throws ScenarioError when two ports that are used lie in parts of the graph that are not joined
void check_joined(const Graph& graph, const std::vector<std::int32_t>& edge_of_port, const Wiring& wiring) {
  const std::int32_t first = wiring.switch_of_port.front();
  for (std::size_t port = 1; port < wiring.switch_of_port.size(); ++port) {
    if (!wiring.routing->reaches(wiring.switch_of_port[port], first)) {
      const GraphNode& here = graph.nodes[at(graph.edges[at(edge_of_port.front())].from)];
      const GraphNode& there = graph.nodes[at(graph.edges[at(edge_of_port[port])].from)];
      scenario::fail({graph.file, there.line, 0}, fmt::format("node {}", there.name),
                     {fmt::format("No edges lead from \"{}\" to \"{}\".", here.name, there.name), "",
                      "a graph that joins all ports of the cluster"});
    }
  }
}

/// Routing tables of the switches that have ports. Infeasible when they would be too large.
tl::expected<std::unique_ptr<const GraphRouting>, error::Infeasible> make_routing(const Wiring& wiring) {
  constexpr std::size_t kMostCosts = 50'000'000;
  std::vector<std::int32_t> targets = wiring.switch_of_port;
  std::sort(targets.begin(), targets.end());
  targets.erase(std::unique(targets.begin(), targets.end()), targets.end());
  if (targets.size() * wiring.switch_names.size() > kMostCosts) {
    return tl::unexpected(error::Infeasible{fmt::format(
        "Routes to {} switches with ports through {} switches need {} entries; the most that can be kept is "
        "{}.",
        targets.size(), wiring.switch_names.size(), targets.size() * wiring.switch_names.size(), kMostCosts)});
  }
  return std::make_unique<const GraphRouting>(static_cast<std::int32_t>(wiring.switch_names.size()), wiring.arcs,
                                              targets);
}

std::string describe(const Graph& graph, const Wiring& wiring, const scenario::Cluster& cluster) {
  std::int32_t machines = 0;
  for (const GraphNode& node : graph.nodes) {
    machines = std::max(machines, node.machine + 1);
  }
  const std::size_t slash = graph.file.find_last_of('/');
  std::string text =
      fmt::format("graph {}, {}, {} between them", graph.file.substr(slash == std::string::npos ? 0 : slash + 1),
                  count_of(static_cast<std::int64_t>(wiring.switch_names.size()), "switch", "switches"),
                  count_of(static_cast<std::int64_t>(wiring.arcs.size() / 2), "cable", "cables"));
  if (machines > cluster.nodes) {
    text += fmt::format(", {} of {} machines used", cluster.nodes, machines);
  }
  return text;
}

/// Switches and cables as a file gives them; shortest paths, flows dealt out to equal ones by a hash.
class Custom : public Topology {
 public:
  [[nodiscard]] tl::expected<fabric::Fabric, error::Infeasible> build(const scenario::Cluster& cluster) const override {
    if (const auto obstacle = find_obstacle(cluster)) {
      return tl::unexpected(*obstacle);
    }
    const Graph graph = read_graph(cluster.topology.parameters.choice("file"));
    const auto edge_of_port = find_ports(graph, cluster);
    if (!edge_of_port) {
      return tl::unexpected(edge_of_port.error());
    }
    fabric::Fabric fabric = fabric::build_nodes(cluster);
    const auto wiring = std::make_shared<Wiring>();
    const std::vector<std::int32_t> switches = number_switches(graph, *wiring);
    if (!fabric.ports.empty()) {
      hang_ports(fabric, graph, *edge_of_port, switches, cluster.network.efficiency, *wiring);
      add_trunks(fabric, graph, switches, cluster.network, *wiring);
      auto routing = make_routing(*wiring);
      if (!routing) {
        return tl::unexpected(routing.error());
      }
      wiring->routing = std::move(*routing);
      check_joined(graph, *edge_of_port, *wiring);
      set_functions(fabric, wiring);
    }
    fabric.description = describe(graph, *wiring, cluster);
    return fabric;
  }

 private:
  static void set_functions(fabric::Fabric& fabric, const std::shared_ptr<const Wiring>& wiring) {
    fabric.network_route = [wiring](std::int32_t from_port, std::int32_t to_port, fabric::NetworkHop& hop) {
      wiring->routing->append(wiring->switch_of_port[at(from_port)], wiring->switch_of_port[at(to_port)],
                              hash_flow(from_port, to_port), hop);
      hop.cables += wiring->cable_of_port[at(from_port)] + wiring->cable_of_port[at(to_port)];
    };
    fabric.trunk_name = [wiring](fabric::LinkId link) { return wiring->name(link); };
  }
};

}  // namespace

void register_custom(catalog::Catalog<Topology>& catalog) {
  catalog.add({.name = "custom",
               .summary = "Switches and cables from a file (YAML or GraphML, docs/topologies.md); shortest paths, by "
                          "switches and then by cable latency, and a hash of the two ports chooses among equal ones.",
               .source = "RFC 2992 (2000), equal-cost multi-path by hash; shortest paths: Dijkstra (Boost.Graph)",
               .parameters = {{"file",
                               catalog::ParameterKind::kFile,
                               "",
                               {},
                               0,
                               0,
                               "The graph; a relative path is taken from the scenario's folder."}}},
              std::make_unique<Custom>());
}

}  // namespace lamina::topologies
