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

}  // namespace

Seconds Router::append(int from_device, int to_device, std::vector<LinkId>& links) {
  const Device& from = device_at(*fabric_, from_device);
  const Device& to = device_at(*fabric_, to_device);
  if (from_device == to_device) {
    throw error::InternalError("route from device " + std::to_string(from_device) + " to itself");
  }
  if (from.domain == to.domain && from.to_domain != kNoLink && to.from_domain != kNoLink) {
    links.push_back(from.to_domain);
    links.push_back(to.from_domain);
    return fabric_->device_link_latency;
  }
  if (from.node == to.node && from.to_host != kNoLink && to.from_host != kNoLink) {
    links.push_back(from.to_host);
    links.push_back(to.from_host);
    return 2.0 * fabric_->host_latency;
  }
  if (from.port < 0 || to.port < 0 || from.port == to.port || !fabric_->network_route) {
    throw_no_path(from_device, to_device);
  }
  hop_.links.clear();
  hop_.switches = 0;
  fabric_->network_route(from.port, to.port, hop_);
  links.push_back(fabric_->ports[static_cast<std::size_t>(from.port)].up);
  links.insert(links.end(), hop_.links.begin(), hop_.links.end());
  links.push_back(fabric_->ports[static_cast<std::size_t>(to.port)].down);
  return fabric_->port_latency + static_cast<double>(hop_.switches) * fabric_->switch_latency;
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
