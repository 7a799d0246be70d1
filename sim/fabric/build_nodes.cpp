#include <algorithm>
#include <string>

#include "sim/error/error.hpp"
#include "sim/fabric/fabric.hpp"
#include "sim/fabric/large_pages.hpp"

namespace lamina::fabric {
namespace {

void check(const scenario::Cluster& cluster) {
  const scenario::Node& node = cluster.node;
  const std::int64_t devices = std::int64_t{cluster.nodes} * node.devices;
  if (cluster.nodes < 1 || node.devices < 1 || devices > kMostDevices) {
    throw error::InternalError("a cluster of " + std::to_string(cluster.nodes) + " nodes of " +
                               std::to_string(node.devices) + " devices cannot be built");
  }
  if (node.nics < 0 || std::int64_t{cluster.nodes} * node.nics > kMostDevices) {
    throw error::InternalError("a node cannot have " + std::to_string(node.nics) + " ports");
  }
}

/// Appends a link in each direction and returns the first one's id.
LinkId add_pair(Fabric& fabric, LinkClass link_class, BytesPerSecond bandwidth) {
  const auto first = static_cast<LinkId>(fabric.links.size());
  Link& forth = fabric.links.emplace_back();
  forth.link_class = link_class;
  forth.bandwidth = bandwidth;
  Link& back = fabric.links.emplace_back();
  back.link_class = link_class;
  back.bandwidth = bandwidth;
  return first;
}

void add_devices(Fabric& fabric, const scenario::Cluster& cluster) {
  const scenario::Node& node = cluster.node;
  const int domain_size = std::max(1, node.device_link_domain);
  fabric.devices.resize(static_cast<std::size_t>(cluster.nodes) * static_cast<std::size_t>(node.devices));
  std::int32_t index = 0;
  for (Device& device : fabric.devices) {
    const std::int32_t local = index % node.devices;
    device.node = index / node.devices;
    device.domain = index / domain_size;
    if (node.nics > 0) {
      device.port = device.node * node.nics + port_of(node, local);
    }
    if (domain_size > 1) {
      device.to_domain = add_pair(fabric, LinkClass::kDeviceLink, node.device_link.bandwidth);
      device.from_domain = device.to_domain + 1;
    }
    ++index;
  }
}

void add_host_paths(Fabric& fabric, const scenario::Cluster& cluster) {
  const scenario::Node& node = cluster.node;
  if (node.host_path.bandwidth.value() <= 0) {
    return;  // the node has no path to host memory
  }
  const int shared_by = std::max(1, node.host_path.shared_by);
  LinkId to_host = kNoLink;
  std::int32_t local = 0;
  for (Device& device : fabric.devices) {
    if (local % shared_by == 0) {
      to_host = add_pair(fabric, LinkClass::kHostPath, node.host_path.bandwidth);
    }
    device.to_host = to_host;
    device.from_host = to_host + 1;
    local = local + 1 == node.devices ? 0 : local + 1;
  }
}

void add_ports(Fabric& fabric, const scenario::Cluster& cluster) {
  const BytesPerSecond bandwidth = cluster.network.bandwidth * cluster.network.efficiency;
  fabric.ports.resize(static_cast<std::size_t>(cluster.nodes) * static_cast<std::size_t>(cluster.node.nics));
  std::int32_t index = 0;
  for (Port& port : fabric.ports) {
    port.node = index / cluster.node.nics;
    port.index = index % cluster.node.nics;
    port.up = add_pair(fabric, LinkClass::kPort, bandwidth);
    port.down = port.up + 1;
    ++index;
  }
}

}  // namespace

Fabric build_nodes(const scenario::Cluster& cluster) {
  check(cluster);
  Fabric fabric;
  const auto devices = static_cast<std::size_t>(cluster.nodes) * static_cast<std::size_t>(cluster.node.devices);
  const auto ports = static_cast<std::size_t>(cluster.nodes) * static_cast<std::size_t>(cluster.node.nics);
  reserve_large(fabric.links, 4 * devices + 2 * ports + ports / 4);  // the last term: trunks
  reserve_large(fabric.devices, devices);
  reserve_large(fabric.ports, ports);
  fabric.device_link_latency = cluster.node.device_link.latency;
  fabric.host_latency = cluster.node.host_path.latency;
  fabric.port_latency = cluster.network.port_latency;
  fabric.switch_latency = cluster.network.switch_latency;
  fabric.device_link_protocols = cluster.node.device_link.protocols;
  fabric.network_protocols = cluster.network.protocols;
  add_devices(fabric, cluster);
  add_host_paths(fabric, cluster);
  add_ports(fabric, cluster);
  return fabric;
}

}  // namespace lamina::fabric
