#include <optional>
#include <string>

#include "sim/error/error.hpp"
#include "sim/fabric/fabric.hpp"

namespace lamina::fabric {
namespace {

const Device& device_at(const Fabric& fabric, int device) {
  if (device < 0 || static_cast<std::size_t>(device) >= fabric.devices.size()) {
    throw error::InternalError("there is no device " + std::to_string(device));
  }
  return fabric.devices[static_cast<std::size_t>(device)];
}

[[noreturn]] void throw_no_path(int from_device, int to_device) {
  throw error::InternalError("no path from device " + std::to_string(from_device) + " to device " +
                             std::to_string(to_device));
}

/// The way that needs no port, if there is one: device links of a domain, host paths of a node.
std::optional<Seconds> append_local(const Fabric& fabric, const Device& from, const Device& to,
                                    std::vector<LinkId>& links) {
  if (from.domain == to.domain && from.to_domain != kNoLink && to.from_domain != kNoLink) {
    links.push_back(from.to_domain);
    links.push_back(to.from_domain);
    return fabric.device_link_latency;
  }
  if (from.node == to.node && from.to_host != kNoLink && to.from_host != kNoLink) {
    links.push_back(from.to_host);
    links.push_back(to.from_host);
    return 2.0 * fabric.host_latency;
  }
  return std::nullopt;
}

std::int32_t plane_of(const Fabric& fabric, const Device& device) {
  return fabric.ports[static_cast<std::size_t>(device.port)].plane;
}

int devices_per_node(const Fabric& fabric) {
  return static_cast<int>(fabric.devices.size()) / (fabric.devices.back().node + 1);
}

/// Whether data can go from one to the other of two devices without a port.
bool reaches_locally(const Device& from, const Device& to) {
  return (from.domain == to.domain && from.to_domain != kNoLink && to.from_domain != kNoLink) ||
         (from.node == to.node && from.to_host != kNoLink && to.from_host != kNoLink);
}

/// The devices whose ports data takes between planes.
struct Crossing {
  int leaves_at = -1;  ///< -1: there is no way
  int arrives_at = -1;
};

/// First device of `near`'s node, from the one that stands where `far` stands in its own node and going round, that
/// `near` reaches and whose port is on `plane`; -1: none.
int find_relay(const Fabric& fabric, int near, int far, std::int32_t plane) {
  const Device& end = fabric.devices[static_cast<std::size_t>(near)];
  const int per_node = devices_per_node(fabric);
  for (int i = 0; i < per_node; ++i) {
    const int candidate = end.node * per_node + (far + i) % per_node;
    const Device& device = fabric.devices[static_cast<std::size_t>(candidate)];
    const bool fits = device.port >= 0 && plane_of(fabric, device) == plane;
    if (fits && (candidate == near || reaches_locally(end, device))) {
      return candidate;
    }
  }
  return -1;
}

Crossing find_crossing(const Fabric& fabric, int from, int to) {
  const std::int32_t from_plane = plane_of(fabric, fabric.devices[static_cast<std::size_t>(from)]);
  const std::int32_t to_plane = plane_of(fabric, fabric.devices[static_cast<std::size_t>(to)]);
  if (const int relay = find_relay(fabric, from, to, to_plane); relay >= 0) {
    return {relay, to};
  }
  if (const int relay = find_relay(fabric, to, from, from_plane); relay >= 0) {
    return {from, relay};
  }
  const int per_node = devices_per_node(fabric);
  const int first = from - from % per_node;
  for (int i = 0; i < per_node; ++i) {  // any plane that both nodes have
    const Device& device = fabric.devices[static_cast<std::size_t>(first + (to + i) % per_node)];
    const std::int32_t plane = device.port < 0 ? -1 : plane_of(fabric, device);
    const int leaves_at = device.port < 0 ? -1 : find_relay(fabric, from, to, plane);
    const int arrives_at = leaves_at < 0 ? -1 : find_relay(fabric, to, leaves_at, plane);
    if (arrives_at >= 0) {
      return {leaves_at, arrives_at};
    }
  }
  return {};
}

}  // namespace

Seconds Router::append(int from_device, int to_device, std::vector<LinkId>& links) {
  const Device& from = device_at(*fabric_, from_device);
  const Device& to = device_at(*fabric_, to_device);
  if (from_device == to_device) {
    throw error::InternalError("route from device " + std::to_string(from_device) + " to itself");
  }
  if (const std::optional<Seconds> local = append_local(*fabric_, from, to, links)) {
    return *local;
  }
  if (from.port < 0 || to.port < 0 || from.port == to.port || !fabric_->network_route) {
    throw_no_path(from_device, to_device);
  }
  if (plane_of(*fabric_, from) == plane_of(*fabric_, to)) {
    return append_network(from, to, links);
  }
  return append_between_planes(from_device, to_device, links);
}

Seconds Router::append_between_planes(int from_device, int to_device, std::vector<LinkId>& links) {
  const Device& from = device_at(*fabric_, from_device);
  const Device& to = device_at(*fabric_, to_device);
  const Crossing crossing = find_crossing(*fabric_, from_device, to_device);
  if (crossing.leaves_at < 0) {
    throw_no_path(from_device, to_device);
  }
  const Device& sender = device_at(*fabric_, crossing.leaves_at);
  const Device& receiver = device_at(*fabric_, crossing.arrives_at);
  Seconds latency{0};
  if (crossing.leaves_at != from_device) {
    latency = latency + *append_local(*fabric_, from, sender, links);
  }
  latency = latency + append_network(sender, receiver, links);
  if (crossing.arrives_at != to_device) {
    latency = latency + *append_local(*fabric_, receiver, to, links);
  }
  return latency;
}

Seconds Router::append_network(const Device& from, const Device& to, std::vector<LinkId>& links) {
  hop_.links.clear();
  hop_.switches = 0;
  hop_.cables = Seconds(0);
  fabric_->network_route(from.port, to.port, hop_);
  links.push_back(fabric_->ports[static_cast<std::size_t>(from.port)].up);
  links.insert(links.end(), hop_.links.begin(), hop_.links.end());
  links.push_back(fabric_->ports[static_cast<std::size_t>(to.port)].down);
  return fabric_->port_latency + static_cast<double>(hop_.switches) * fabric_->switch_latency + hop_.cables;
}

Route route(const Fabric& fabric, int from_device, int to_device) {
  Route result;
  result.latency = Router(fabric).append(from_device, to_device, result.links);
  return result;
}

Route host_route(const Fabric& fabric, int device, bool to_host) {
  const Device& end = device_at(fabric, device);
  const LinkId link = to_host ? end.to_host : end.from_host;
  if (link == kNoLink) {
    throw error::InternalError("device " + std::to_string(device) + " has no host path");
  }
  return {{link}, fabric.host_latency};
}

}  // namespace lamina::fabric
