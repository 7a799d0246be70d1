#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "sim/error/error.hpp"
#include "sim/fabric/fabric.hpp"

namespace lamina::fabric {
namespace {

/// First element of `owners` that `owns`, by bisection on `key` (link ids grow with the owner on fabrics of
/// build_nodes); a scan finds it on fabrics made otherwise. nullptr: none.
template <class Owner, class Key, class Owns>
const Owner* find_owner(const std::vector<Owner>& owners, LinkId link, Key key, Owns owns) {
  const auto after =
      std::partition_point(owners.begin(), owners.end(), [&](const Owner& owner) { return key(owner) < link - 1; });
  if (after != owners.end() && owns(*after)) {
    return &*after;
  }
  const auto found = std::find_if(owners.begin(), owners.end(), owns);
  return found == owners.end() ? nullptr : &*found;
}

std::string device_link_name(const Fabric& fabric, LinkId link) {
  const Device* device = find_owner(
      fabric.devices, link, [](const Device& owner) { return owner.to_domain; },
      [link](const Device& owner) { return owner.to_domain == link || owner.from_domain == link; });
  if (device == nullptr) {
    return fmt::format("link {}", link);
  }
  return fmt::format("device {} {} domain switch", device - fabric.devices.data(),
                     device->to_domain == link ? "to" : "from");
}

std::string host_path_name(const Fabric& fabric, LinkId link) {
  const Device* device = find_owner(
      fabric.devices, link, [](const Device& owner) { return owner.to_host; },
      [link](const Device& owner) { return owner.to_host == link || owner.from_host == link; });
  if (device == nullptr) {
    return fmt::format("link {}", link);
  }
  return fmt::format("device {} {} host", device - fabric.devices.data(), device->to_host == link ? "to" : "from");
}

std::string port_name(const Fabric& fabric, LinkId link) {
  const Port* port = find_owner(
      fabric.ports, link, [](const Port& owner) { return owner.up; },
      [link](const Port& owner) { return owner.up == link || owner.down == link; });
  if (port == nullptr) {
    return fmt::format("link {}", link);
  }
  return fmt::format("node {} port {} {}", port->node, port->index, port->up == link ? "up" : "down");
}

}  // namespace

const char* name_of(LinkClass link_class) {
  switch (link_class) {
    case LinkClass::kDeviceLink:
      return "device link";
    case LinkClass::kHostPath:
      return "host path";
    case LinkClass::kPort:
      return "port";
    case LinkClass::kTrunk:
      return "trunk";
  }
  return "unknown";
}

std::string link_name(const Fabric& fabric, LinkId link) {
  if (link < 0 || static_cast<std::size_t>(link) >= fabric.links.size()) {
    throw error::InternalError("there is no link " + std::to_string(link));
  }
  switch (fabric.links[static_cast<std::size_t>(link)].link_class) {
    case LinkClass::kDeviceLink:
      return device_link_name(fabric, link);
    case LinkClass::kHostPath:
      return host_path_name(fabric, link);
    case LinkClass::kPort:
      return port_name(fabric, link);
    case LinkClass::kTrunk:
      break;
  }
  return fabric.trunk_name ? fabric.trunk_name(link) : fmt::format("link {}", link);
}

}  // namespace lamina::fabric
