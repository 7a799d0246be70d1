#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "sim/fabric/switch_tree.hpp"
#include "topologies/network.hpp"
#include "topologies/topology.hpp"

namespace lamina::topologies {
namespace {

struct Shape {
  std::int32_t levels = 2;
  std::int32_t planes = 1;
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
  shape.planes = parameters.integer("planes");
  shape.nodes_per_leaf = parameters.integer("nodes_per_leaf");
  shape.leaves_per_pod = parameters.integer("leaves_per_pod");
  shape.oversubscription = parameters.number("oversubscription");
  shape.core_oversubscription = parameters.number("core_oversubscription");
  shape.leaves = divide_up(cluster.nodes, shape.nodes_per_leaf);
  shape.pods = shape.levels == 3 ? divide_up(shape.leaves, shape.leaves_per_pod) : 1;
  return shape;
}

/// Why the ports of a node cannot be dealt out to the planes; nothing if they can.
std::optional<error::Infeasible> find_plane_obstacle(const scenario::Cluster& cluster, std::int32_t planes) {
  const scenario::Node& node = cluster.node;
  if (planes == 1 || node.nics == 0) {
    return std::nullopt;
  }
  if (node.nics % planes != 0) {
    return error::Infeasible{
        fmt::format("The {} network ports of a node cannot be dealt out evenly to {} planes.", node.nics, planes)};
  }
  if (node.device_link_domain < node.devices && node.host_path.bandwidth.value() <= 0) {
    return error::Infeasible{
        fmt::format("Traffic between {} planes changes devices inside a node, but the device links join only {} of its "
                    "{} devices and there is no host path.",
                    planes, node.device_link_domain, node.devices)};
  }
  return std::nullopt;
}

std::string name_switch(std::int32_t index, const Shape& shape, std::int32_t pods) {
  const std::int32_t below = index - shape.planes;  // after the roots: the pods, then the leaves, plane by plane
  const bool is_pod = below < shape.planes * pods;
  const std::int32_t number = is_pod ? below : below - shape.planes * pods;
  const std::int32_t per_plane = is_pod ? pods : shape.leaves;
  const char* kind = is_pod ? "pod" : "leaf";
  return shape.planes == 1 ? fmt::format("{} {}", kind, number)
                           : fmt::format("plane {} {} {}", number / per_plane, kind, number % per_plane);
}

/// Switches in the order core (or the one pod's spine, or the only leaf) of every plane, pods, leaves. Trunks have the
/// size of a full leaf or pod.
fabric::SwitchTree wire(const fabric::Fabric& fabric, const Shape& shape, int nics) {
  fabric::SwitchTree tree;
  const std::int32_t planes = shape.planes;
  const BytesPerSecond port = fabric.links[static_cast<std::size_t>(fabric.ports.front().up)].bandwidth;
  const double leaf_ports = static_cast<double>(shape.nodes_per_leaf) * nics / planes;
  const BytesPerSecond leaf_trunk = port * (leaf_ports / shape.oversubscription);
  const BytesPerSecond pod_trunk = leaf_trunk * (shape.leaves_per_pod / shape.core_oversubscription);
  const std::int32_t pods = shape.pods > 1 ? shape.pods : 0;
  const std::int32_t leaves = shape.leaves > 1 ? shape.leaves : 0;
  tree.parent.assign(static_cast<std::size_t>(planes), -1);
  tree.trunk.assign(static_cast<std::size_t>(planes), BytesPerSecond(0));
  for (std::int32_t pod = 0; pod < planes * pods; ++pod) {
    tree.parent.push_back(pod / pods);
    tree.trunk.push_back(pod_trunk);
  }
  for (std::int32_t leaf = 0; leaf < planes * leaves; ++leaf) {
    const std::int32_t plane = leaf / leaves;
    tree.parent.push_back(pods == 0 ? plane : planes + plane * pods + leaf % leaves / shape.leaves_per_pod);
    tree.trunk.push_back(leaf_trunk);
  }
  const std::int32_t first_leaf = planes * (1 + pods);
  tree.switch_of_port.reserve(fabric.ports.size());
  for (const fabric::Port& end : fabric.ports) {
    tree.switch_of_port.push_back(leaves == 0 ? end.plane
                                              : first_leaf + end.plane * leaves + end.node / shape.nodes_per_leaf);
  }
  tree.name = [shape, pods](std::int32_t index) { return name_switch(index, shape, pods); };
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
  if (shape.planes > 1) {
    text += fmt::format(", {} planes", shape.planes);
  }
  return text;
}

/// Folded Clos network: leaves, (pod spines,) core; all ports of a node are on one leaf. Or several such networks, one
/// per plane, with port i of a node on plane i mod planes.
class FatTree : public Topology {
 public:
  [[nodiscard]] tl::expected<fabric::Fabric, error::Infeasible> build(const scenario::Cluster& cluster) const override {
    if (const auto obstacle = find_obstacle(cluster)) {
      return tl::unexpected(*obstacle);
    }
    const Shape shape = shape_of(cluster);
    if (const auto obstacle = find_plane_obstacle(cluster, shape.planes)) {
      return tl::unexpected(*obstacle);
    }
    fabric::Fabric fabric = fabric::build_nodes(cluster);
    if (!fabric.ports.empty()) {
      for (fabric::Port& end : fabric.ports) {
        end.plane = end.index % shape.planes;
      }
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
       .summary = "Folded Clos network of 2 or 3 levels; all ports of a node are on one leaf, or on one leaf of each "
                  "plane.",
       .source =
           "Leiserson, IEEE Trans. Computers C-34 (1985); Al-Fares, Loukissas and Vahdat, SIGCOMM 2008; planes: Qian "
           "et al., Alibaba HPN, SIGCOMM 2024",
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
             "Bandwidth of a full pod's leaf links over the bandwidth of its links to the core; 3 levels only."},
            {"planes",
             ParameterKind::kInteger,
             "1",
             {},
             1,
             1024,
             "Separate networks; port i of a node is on plane i mod planes. Traffic to another plane first goes to the "
             "device beside the right port of the sender's node (NCCL's PXN)."}}},
      std::make_unique<FatTree>());
}

}  // namespace lamina::topologies
