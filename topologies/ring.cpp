#include <memory>

#include <fmt/format.h>

#include "topologies/grid.hpp"
#include "topologies/network.hpp"
#include "topologies/topology.hpp"

namespace lamina::topologies {
namespace {

/// Every node is joined to the next and the previous one.
class Ring : public Topology {
 public:
  [[nodiscard]] tl::expected<fabric::Fabric, error::Infeasible> build(const scenario::Cluster& cluster) const override {
    if (const auto obstacle = find_obstacle(cluster)) {
      return tl::unexpected(*obstacle);
    }
    fabric::Fabric fabric = fabric::build_nodes(cluster);
    if (!fabric.ports.empty()) {
      connect_grid(fabric, {cluster.nodes, 1, 1},
                   node_bandwidth(fabric) * cluster.topology.parameters.number("link_bandwidth"));
    }
    fabric.description = fmt::format("ring of {}", count_of(cluster.nodes, "node", "nodes"));
    return fabric;
  }
};

}  // namespace

void register_ring(catalog::Catalog<Topology>& catalog) {
  using catalog::ParameterKind;
  catalog.add(
      {.name = "ring",
       .summary = "One router per node, joined to the next and the previous one; traffic takes the shorter way.",
       .source = "Dally and Towles, Principles and Practices of Interconnection Networks (2004), chapter 5",
       .parameters = {{"link_bandwidth",
                       ParameterKind::kNumber,
                       "1",
                       {},
                       1e-3,
                       1e6,
                       "Bandwidth of a link between neighbours, as a multiple of all ports of a node together."}}},
      std::make_unique<Ring>());
}

}  // namespace lamina::topologies
