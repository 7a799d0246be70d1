#include <memory>
#include <string>

#include <fmt/format.h>

#include "topologies/grid.hpp"
#include "topologies/network.hpp"
#include "topologies/topology.hpp"

namespace lamina::topologies {
namespace {

/// Sizes of the three dimensions; size_x follows from the others when it is 0.
tl::expected<GridSize, error::Infeasible> size_of(const scenario::Cluster& cluster) {
  const catalog::Parameters& parameters = cluster.topology.parameters;
  const std::int64_t x = parameters.integer("size_x");
  const std::int64_t y = parameters.integer("size_y");
  const std::int64_t z = parameters.integer("size_z");
  const std::int64_t nodes = cluster.nodes;
  if (x == 0 && nodes % (y * z) != 0) {
    return tl::unexpected(
        error::Infeasible{fmt::format("A torus of {} x {} in y and z cannot hold {} nodes evenly.", y, z, nodes)});
  }
  const std::int64_t length = x == 0 ? nodes / (y * z) : x;
  if (length * y * z != nodes) {
    return tl::unexpected(error::Infeasible{
        fmt::format("A torus of {} x {} x {} has {} nodes; the cluster has {}.", length, y, z, length * y * z, nodes)});
  }
  return GridSize{static_cast<std::int32_t>(length), static_cast<std::int32_t>(y), static_cast<std::int32_t>(z)};
}

std::string describe(const GridSize& size) {
  if (size[2] > 1) {
    return fmt::format("torus of {} x {} x {} nodes", size[0], size[1], size[2]);
  }
  return fmt::format("torus of {} x {} nodes", size[0], size[1]);
}

class Torus : public Topology {
 public:
  [[nodiscard]] tl::expected<fabric::Fabric, error::Infeasible> build(const scenario::Cluster& cluster) const override {
    if (const auto obstacle = find_obstacle(cluster)) {
      return tl::unexpected(*obstacle);
    }
    const tl::expected<GridSize, error::Infeasible> size = size_of(cluster);
    if (!size) {
      return tl::unexpected(size.error());
    }
    fabric::Fabric fabric = fabric::build_nodes(cluster);
    if (!fabric.ports.empty()) {
      connect_grid(fabric, *size, node_bandwidth(fabric) * cluster.topology.parameters.number("link_bandwidth"));
    }
    fabric.description = describe(*size);
    return fabric;
  }
};

}  // namespace

void register_torus(catalog::Catalog<Topology>& catalog) {
  using catalog::ParameterKind;
  constexpr double kMost = 1e6;
  catalog.add(
      {.name = "torus",
       .summary =
           "One router per node in a grid of 2 or 3 dimensions closed to rings; dimension-ordered shortest routes.",
       .source =
           "Dally, Performance Analysis of k-ary n-cube Interconnection Networks, IEEE Trans. Computers 39 (1990); "
           "Adiga et al., Blue Gene/L torus interconnection network, IBM J. Res. Dev. 49 (2005)",
       .parameters = {{"size_x",
                       ParameterKind::kInteger,
                       "0",
                       {},
                       0,
                       kMost,
                       "Nodes along x, which are numbered first; 0: as many as there are nodes for y and z."},
                      {"size_y", ParameterKind::kInteger, "1", {}, 1, kMost, "Nodes along y; 1: no such dimension."},
                      {"size_z", ParameterKind::kInteger, "1", {}, 1, kMost, "Nodes along z; 1: no such dimension."},
                      {"link_bandwidth",
                       ParameterKind::kNumber,
                       "1",
                       {},
                       1e-3,
                       kMost,
                       "Bandwidth of a link between neighbours, as a multiple of all ports of a node together."}}},
      std::make_unique<Torus>());
}

}  // namespace lamina::topologies
