#include <memory>

#include <fmt/format.h>

#include "sim/fabric/switch_tree.hpp"
#include "topologies/network.hpp"
#include "topologies/topology.hpp"

namespace lamina::topologies {
namespace {

struct Shape {
  std::int32_t nodes_per_rail_switch = 1;
  std::int32_t rails = 0;
  std::int32_t pods = 1;
  double oversubscription = 1;
};

/// The spine is switch 0, rail switch r of pod p is 1 + p x rails + r; a single rail switch is the root itself.
fabric::SwitchTree wire(const fabric::Fabric& fabric, const Shape& shape) {
  fabric::SwitchTree tree;
  tree.parent = {-1};
  tree.trunk = {BytesPerSecond(0)};
  const BytesPerSecond port = fabric.links[static_cast<std::size_t>(fabric.ports.front().up)].bandwidth;
  const BytesPerSecond trunk = port * (shape.nodes_per_rail_switch / shape.oversubscription);
  const std::int32_t switches = shape.pods * shape.rails;
  for (std::int32_t index = 0; index < switches && switches > 1; ++index) {
    tree.parent.push_back(0);
    tree.trunk.push_back(trunk);
  }
  tree.switch_of_port.reserve(fabric.ports.size());
  for (const fabric::Port& end : fabric.ports) {
    const std::int32_t pod = end.node / shape.nodes_per_rail_switch;
    tree.switch_of_port.push_back(switches > 1 ? 1 + pod * shape.rails + end.index : 0);
  }
  tree.name = [rails = shape.rails](std::int32_t index) {
    return fmt::format("pod {} rail switch {}", (index - 1) / rails, (index - 1) % rails);
  };
  return tree;
}

/// Port i of every node of a pod is on the pod's rail switch i; a spine joins the rail switches of all pods.
class RailOptimized : public Topology {
 public:
  [[nodiscard]] tl::expected<fabric::Fabric, error::Infeasible> build(const scenario::Cluster& cluster) const override {
    if (const auto obstacle = find_obstacle(cluster)) {
      return tl::unexpected(*obstacle);
    }
    Shape shape;
    shape.nodes_per_rail_switch = cluster.topology.parameters.integer("nodes_per_rail_switch");
    shape.oversubscription = cluster.topology.parameters.number("oversubscription");
    shape.rails = cluster.node.nics;
    shape.pods = divide_up(cluster.nodes, shape.nodes_per_rail_switch);
    fabric::Fabric fabric = fabric::build_nodes(cluster);
    if (!fabric.ports.empty()) {
      fabric::connect(fabric, wire(fabric, shape));
    }
    fabric.description =
        fmt::format("rail-optimized, {} of {}, {}, spine {}", count_of(shape.pods, "pod", "pods"),
                    count_of(shape.nodes_per_rail_switch, "node", "nodes"), count_of(shape.rails, "rail", "rails"),
                    describe_oversubscription(shape.oversubscription));
    return fabric;
  }
};

}  // namespace

void register_rail_optimized(catalog::Catalog<Topology>& catalog) {
  using catalog::ParameterKind;
  constexpr double kMost = 1e6;
  catalog.add(
      {.name = "rail_optimized",
       .summary =
           "Port i of every node of a pod is on rail switch i, so that traffic within a rail crosses one switch; "
           "a spine joins rails and pods.",
       .source = "NVIDIA DGX SuperPOD reference architecture (H100), compute fabric; Wang et al., Rail-only, "
                 "arXiv 2307.12169, section 2",
       .parameters = {{"nodes_per_rail_switch",
                       ParameterKind::kInteger,
                       "32",
                       {},
                       1,
                       kMost,
                       "Nodes of a full pod, each with one port on each of its rail switches."},
                      {"oversubscription",
                       ParameterKind::kNumber,
                       "1",
                       {},
                       1,
                       kMost,
                       "Bandwidth of a full rail switch's ports over the bandwidth of its links to the spine."}}},
      std::make_unique<RailOptimized>());
}

}  // namespace lamina::topologies
