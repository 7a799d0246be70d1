#include <memory>
#include <utility>

#include <fmt/format.h>

#include "sim/fabric/switch_tree.hpp"
#include "topologies/network.hpp"
#include "topologies/topology.hpp"

namespace lamina::topologies {
namespace {

struct Shape {
  std::int32_t levels = 2;
  std::int32_t nodes_per_leaf = 1;
  std::int32_t leaves_per_pod = 1;
  double oversubscription = 1;       ///< leaf: port bandwidth over trunk bandwidth
  double core_oversubscription = 1;  ///< pod: leaf trunk bandwidth over pod trunk bandwidth
  std::int32_t leaves = 1;
  std::int32_t pods = 1;  ///< 3 levels only
};

Shape shape_of(const scenario::Cluster& cluster) {
  const catalog::Parameters& parameters = cluster.topology.parameters;
  Shape shape;
  shape.levels = parameters.integer("levels");
  shape.nodes_per_leaf = parameters.integer("nodes_per_leaf");
  shape.leaves_per_pod = parameters.integer("leaves_per_pod");
  shape.oversubscription = parameters.number("oversubscription");
  shape.core_oversubscription = parameters.number("core_oversubscription");
  shape.leaves = divide_up(cluster.nodes, shape.nodes_per_leaf);
  shape.pods = shape.levels == 3 ? divide_up(shape.leaves, shape.leaves_per_pod) : 1;
  return shape;
}

/// Switches in the order core (or the one pod's spine, or the only leaf), pods, leaves. Trunks have the size of a full
/// leaf or pod.
fabric::SwitchTree wire(const fabric::Fabric& fabric, const Shape& shape, int nics) {
  fabric::SwitchTree tree;
  tree.parent = {-1};
  tree.trunk = {BytesPerSecond(0)};
  const BytesPerSecond port = fabric.links[static_cast<std::size_t>(fabric.ports.front().up)].bandwidth;
  const BytesPerSecond leaf_trunk = port * (static_cast<double>(shape.nodes_per_leaf) * nics / shape.oversubscription);
  const BytesPerSecond pod_trunk = leaf_trunk * (shape.leaves_per_pod / shape.core_oversubscription);
  const std::int32_t pods = shape.pods > 1 ? shape.pods : 0;
  for (std::int32_t pod = 0; pod < pods; ++pod) {
    tree.parent.push_back(0);
    tree.trunk.push_back(pod_trunk);
  }
  const std::int32_t first_leaf = shape.leaves > 1 ? 1 + pods : 0;
  for (std::int32_t leaf = 0; leaf < shape.leaves && shape.leaves > 1; ++leaf) {
    tree.parent.push_back(pods == 0 ? 0 : 1 + leaf / shape.leaves_per_pod);
    tree.trunk.push_back(leaf_trunk);
  }
  tree.switch_of_port.reserve(fabric.ports.size());
  for (const fabric::Port& end : fabric.ports) {
    tree.switch_of_port.push_back(first_leaf + end.node / shape.nodes_per_leaf);
  }
  tree.name = [pods](std::int32_t index) {
    return index <= pods ? fmt::format("pod {}", index - 1) : fmt::format("leaf {}", index - 1 - pods);
  };
  return tree;
}

std::string describe(const Shape& shape) {
  std::string text =
      fmt::format("fat tree, {} levels, {} of {}, {}", shape.levels, count_of(shape.leaves, "leaf", "leaves"),
                  count_of(shape.nodes_per_leaf, "node", "nodes"), describe_oversubscription(shape.oversubscription));
  if (shape.levels == 3) {
    text += fmt::format(", {} of {}, {}", count_of(shape.pods, "pod", "pods"),
                        count_of(shape.leaves_per_pod, "leaf", "leaves"),
                        describe_oversubscription(shape.core_oversubscription));
  }
  return text;
}

/// Folded Clos network: leaves, (pod spines,) core. All ports of a node are on one leaf.
class FatTree : public Topology {
 public:
  [[nodiscard]] tl::expected<fabric::Fabric, error::Infeasible> build(const scenario::Cluster& cluster) const override {
    if (const auto obstacle = find_obstacle(cluster)) {
      return tl::unexpected(*obstacle);
    }
    const Shape shape = shape_of(cluster);
    fabric::Fabric fabric = fabric::build_nodes(cluster);
    if (!fabric.ports.empty()) {
      fabric::connect(fabric, wire(fabric, shape, cluster.node.nics));
    }
    fabric.description = describe(shape);
    return fabric;
  }
};

}  // namespace

void register_fat_tree(catalog::Catalog<Topology>& catalog) {
  using catalog::ParameterKind;
  constexpr double kMost = 1e6;
  catalog.add(
      {.name = "fat_tree",
       .summary = "Folded Clos network of 2 or 3 levels; all ports of a node are on one leaf.",
       .source = "Leiserson, IEEE Trans. Computers C-34 (1985); Al-Fares, Loukissas and Vahdat, SIGCOMM 2008",
       .parameters =
           {{"levels",
             ParameterKind::kInteger,
             "2",
             {},
             2,
             3,
             "Switch levels: leaf and spine, or leaf, pod spine and core."},
            {"nodes_per_leaf", ParameterKind::kInteger, "16", {}, 1, kMost, "Nodes on a full leaf switch."},
            {"leaves_per_pod", ParameterKind::kInteger, "16", {}, 1, kMost, "Leaves of a full pod; 3 levels only."},
            {"oversubscription",
             ParameterKind::kNumber,
             "1",
             {},
             1,
             kMost,
             "Bandwidth of a full leaf's ports over the bandwidth of its links upward."},
            {"core_oversubscription",
             ParameterKind::kNumber,
             "1",
             {},
             1,
             kMost,
             "Bandwidth of a full pod's leaf links over the bandwidth of its links to the core; 3 levels only."}}},
      std::make_unique<FatTree>());
}

}  // namespace lamina::topologies
