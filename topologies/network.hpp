#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "sim/error/error.hpp"
#include "sim/fabric/fabric.hpp"
#include "sim/scenario/scenario.hpp"

/// What the topologies that have a network share.
namespace lamina::topologies {

/// Why no network can join the devices of `cluster`, whatever its shape; nothing if one can.
[[nodiscard]] inline std::optional<error::Infeasible> find_obstacle(const scenario::Cluster& cluster) {
  const scenario::Node& node = cluster.node;
  const std::int64_t devices = std::int64_t{cluster.nodes} * node.devices;
  if (devices > fabric::kMostDevices) {
    return error::Infeasible{
        fmt::format("The cluster has {} devices; the most that can be built is {}.", devices, fabric::kMostDevices)};
  }
  const int domain = node.device_link_domain < 1 ? 1 : node.device_link_domain;
  if (node.nics == 0 && cluster.nodes > 1 && devices > domain) {
    return error::Infeasible{fmt::format(
        "The cluster has {} nodes but no network ports (nics: 0), and its device links join only {} of {} devices.",
        cluster.nodes, domain, devices)};
  }
  const int domains = domain < node.devices ? node.devices / domain : 1;
  if (domains > 1 && node.host_path.bandwidth.value() <= 0 && (node.nics == 0 || node.nics % domains != 0)) {
    return error::Infeasible{
        fmt::format("The {} device-link domains of a node have no host path between them and {} network ports cannot "
                    "be dealt out to "
                    "them evenly.",
                    domains, node.nics)};
  }
  return std::nullopt;
}

/// "non-blocking" or "3:1 oversubscribed".
[[nodiscard]] inline std::string describe_oversubscription(double oversubscription) {
  return oversubscription == 1 ? "non-blocking" : fmt::format("{}:1 oversubscribed", oversubscription);
}

/// "1 leaf", "3 leaves".
[[nodiscard]] inline std::string count_of(std::int64_t count, const char* one, const char* many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

[[nodiscard]] constexpr std::int32_t divide_up(std::int32_t total, std::int32_t size) {
  return total / size + (total % size != 0 ? 1 : 0);
}

}  // namespace lamina::topologies
