#include <memory>

#include <fmt/format.h>

#include "sim/fabric/switch_tree.hpp"
#include "topologies/network.hpp"
#include "topologies/topology.hpp"

namespace lamina::topologies {
namespace {

fabric::SwitchTree wire(const fabric::Fabric& fabric, std::int32_t nodes_per_leaf, std::int32_t leaves,
                        BytesPerSecond trunk) {
  fabric::SwitchTree tree;
  tree.parent = {-1};
  tree.trunk = {BytesPerSecond(0)};
  for (std::int32_t leaf = 0; leaf < leaves && leaves > 1; ++leaf) {
    tree.parent.push_back(0);
    tree.trunk.push_back(trunk);
  }
  tree.switch_of_port.reserve(fabric.ports.size());
  for (const fabric::Port& end : fabric.ports) {
    tree.switch_of_port.push_back(leaves > 1 ? 1 + end.node / nodes_per_leaf : 0);
  }
  tree.name = [](std::int32_t index) { return fmt::format("leaf {}", index - 1); };
  return tree;
}

/// Top-of-rack leaves that hold all ports of their nodes, and spines; oversubscribed at the leaf.
class LeafSpineEthernet : public Topology {
 public:
  [[nodiscard]] tl::expected<fabric::Fabric, error::Infeasible> build(const scenario::Cluster& cluster) const override {
    if (const auto obstacle = find_obstacle(cluster)) {
      return tl::unexpected(*obstacle);
    }
    const std::int32_t nodes_per_leaf = cluster.topology.parameters.integer("nodes_per_leaf");
    const double oversubscription = cluster.topology.parameters.number("oversubscription");
    const std::int32_t leaves = divide_up(cluster.nodes, nodes_per_leaf);
    fabric::Fabric fabric = fabric::build_nodes(cluster);
    if (!fabric.ports.empty()) {
      const BytesPerSecond port = fabric.links[static_cast<std::size_t>(fabric.ports.front().up)].bandwidth;
      const double ports = static_cast<double>(nodes_per_leaf) * cluster.node.nics;
      fabric::connect(fabric, wire(fabric, nodes_per_leaf, leaves, port * (ports / oversubscription)));
    }
    fabric.description =
        fmt::format("leaf-spine Ethernet, {} of {}, {}", count_of(leaves, "leaf", "leaves"),
                    count_of(nodes_per_leaf, "node", "nodes"), describe_oversubscription(oversubscription));
    return fabric;
  }
};

}  // namespace

void register_leaf_spine_ethernet(catalog::Catalog<Topology>& catalog) {
  using catalog::ParameterKind;
  constexpr double kMost = 1e6;
  catalog.add(
      {.name = "leaf_spine_ethernet",
       .summary = "Ethernet with top-of-rack leaves and spines; oversubscribed at the leaf.",
       .source = "RFC 7938 (2016), section 3.2; Greenberg et al., VL2, SIGCOMM 2009",
       .parameters = {{"nodes_per_leaf", ParameterKind::kInteger, "16", {}, 1, kMost, "Nodes on a full leaf switch."},
                      {"oversubscription",
                       ParameterKind::kNumber,
                       "3",
                       {},
                       1,
                       kMost,
                       "Bandwidth of a full leaf's ports over the bandwidth of its links to the spines."}}},
      std::make_unique<LeafSpineEthernet>());
}

}  // namespace lamina::topologies
