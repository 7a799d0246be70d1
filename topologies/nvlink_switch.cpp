#include <memory>

#include <fmt/format.h>

#include "topologies/network.hpp"
#include "topologies/topology.hpp"

namespace lamina::topologies {
namespace {

/// One NVSwitch domain, in one node or across the nodes of a rack, and no network.
class NvlinkSwitch : public Topology {
 public:
  [[nodiscard]] tl::expected<fabric::Fabric, error::Infeasible> build(const scenario::Cluster& cluster) const override {
    scenario::Cluster nodes = cluster;
    nodes.node.nics = 0;
    const int domain = nodes.node.device_link_domain;
    const std::int64_t devices = std::int64_t{cluster.nodes} * cluster.node.devices;
    if (devices > 1 && devices > domain) {
      return tl::unexpected(error::Infeasible{fmt::format(
          "A network of device links alone joins the {} devices of one domain; the cluster has {} devices in {} nodes.",
          domain, devices, cluster.nodes)});
    }
    if (const auto obstacle = find_obstacle(nodes)) {
      return tl::unexpected(*obstacle);
    }
    fabric::Fabric fabric = fabric::build_nodes(nodes);
    fabric.description = fmt::format("one device-link domain of {}, {}, no network",
                                     count_of(devices, "device", "devices"), count_of(cluster.nodes, "node", "nodes"));
    return fabric;
  }
};

}  // namespace

void register_nvlink_switch(catalog::Catalog<Topology>& catalog) {
  catalog.add({.name = "nvlink_switch",
               .summary = "One domain of device links through a non-blocking switch, no network.",
               .source = "Ishii and Foley, NVSwitch and DGX-2, Hot Chips 30 (2018)",
               .parameters = {}},
              std::make_unique<NvlinkSwitch>());
}

}  // namespace lamina::topologies
