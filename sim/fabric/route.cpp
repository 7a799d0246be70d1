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

/// The device of node `node` that stands where `device` stands in its own.
int counterpart(const Fabric& fabric, int device, std::int32_t node) {
  const int per_node = static_cast<int>(fabric.devices.size()) / (fabric.devices.back().node + 1);
  return node * per_node + device % per_node;
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
  const Device& relay = device_at(*fabric_, counterpart(*fabric_, to_device, from.node));
  const std::optional<Seconds> first = append_local(*fabric_, from, relay, links);
  if (!first || relay.port == to.port || plane_of(*fabric_, relay) != plane_of(*fabric_, to)) {
    throw_no_path(from_device, to_device);
  }
  return *first + append_network(relay, to, links);
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
