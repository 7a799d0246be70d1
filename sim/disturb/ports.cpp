#include "sim/disturb/ports.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include <fmt/format.h>

namespace lamina::disturb {
namespace {

using NodePorts = std::map<int, std::set<int>>;  ///< [node] failed ports

/// First port after `index`, going round, that has not failed; -1: none.
int next_port(const std::set<int>& failed, int index, int ports) {
  for (int i = 1; i < ports; ++i) {
    const int candidate = (index + i) % ports;
    if (!failed.contains(candidate)) {
      return candidate;
    }
  }
  return -1;
}

/// Devices of a node from its first; ranks fill the cluster's devices in order.
int used_devices(const scenario::Scenario& scenario, int node) {
  const int per_node = scenario.cluster.node.devices;
  return std::clamp(scenario.strategy.ranks() - node * per_node, 0, per_node);
}

std::set<int> planes_of(const fabric::Fabric& fabric, int first_device, int devices) {
  std::set<int> planes;
  for (int device = first_device; device < first_device + devices; ++device) {
    const std::int32_t port = fabric.devices[static_cast<std::size_t>(device)].port;
    if (port >= 0) {
      planes.insert(fabric.ports[static_cast<std::size_t>(port)].plane);
    }
  }
  return planes;
}

/// Whether the two nodes have used devices in different domains, so that traffic between them needs the network.
bool needs_network(const fabric::Fabric& fabric, const scenario::Scenario& scenario, int a, int b) {
  const int per_node = scenario.cluster.node.devices;
  const auto domain = [&](int device) { return fabric.devices[static_cast<std::size_t>(device)].domain; };
  const int last_a = a * per_node + used_devices(scenario, a) - 1;
  const int last_b = b * per_node + used_devices(scenario, b) - 1;
  return domain(a * per_node) != domain(last_b) || domain(last_a) != domain(b * per_node);
}

}  // namespace

tl::expected<void, error::Infeasible> reroute(fabric::Fabric& fabric, const scenario::Scenario& scenario) {
  const int ports = scenario.cluster.node.nics;
  const int per_node = scenario.cluster.node.devices;
  NodePorts failed;
  for (const scenario::FailedPort& one : scenario.disturbances.failed_ports) {
    failed[one.node].insert(one.port);
  }
  for (const auto& [node, gone] : failed) {
    for (int device = node * per_node; device < (node + 1) * per_node; ++device) {
      std::int32_t& port = fabric.devices[static_cast<std::size_t>(device)].port;
      const int index = port - node * ports;
      if (gone.contains(index)) {
        const int next = next_port(gone, index, ports);
        port = next < 0 ? -1 : node * ports + next;
      }
    }
  }
  for (const auto& [node, gone] : failed) {
    const std::set<int> planes = planes_of(fabric, node * per_node, per_node);
    const int used_nodes = (scenario.strategy.ranks() + per_node - 1) / per_node;
    for (int other = 0; other < used_nodes && used_devices(scenario, node) > 0; ++other) {
      if (other == node || !needs_network(fabric, scenario, node, other)) {
        continue;
      }
      if (planes.empty()) {
        return tl::unexpected(error::Infeasible{fmt::format(
            "All {} network ports of node {} have failed, and the layout spans {} nodes.", ports, node, used_nodes)});
      }
      const std::set<int> others = planes_of(fabric, other * per_node, per_node);
      if (std::none_of(planes.begin(), planes.end(), [&](int plane) { return others.contains(plane); })) {
        return tl::unexpected(error::Infeasible{fmt::format(
            "The ports that nodes {} and {} have left are on different planes of the network, which are not joined.",
            node, other)});
      }
    }
  }
  return {};
}

}  // namespace lamina::disturb
