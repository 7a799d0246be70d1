#pragma once

#include <string>
#include <vector>

#include "sim/catalog/parameters.hpp"
#include "sim/scenario/scenario.hpp"

/// Clusters with round numbers for the tests of fabric, topologies and collectives.
namespace lamina::testing {

struct Shape {
  int nodes = 2;
  int devices = 8;  ///< per node
  int domain = 8;
  int nics = 8;
  int host_shared_by = 2;
};

inline constexpr double kDeviceLinkBandwidth = 300e9;
inline constexpr double kDeviceLinkLatency = 2e-6;
inline constexpr double kHostBandwidth = 32e9;
inline constexpr double kHostLatency = 4e-6;
inline constexpr double kPortBandwidth = 25e9;
inline constexpr double kPortLatency = 3e-6;
inline constexpr double kSwitchLatency = 0.5e-6;

inline scenario::Cluster make_cluster(const Shape& shape) {
  scenario::Cluster cluster;
  cluster.nodes = shape.nodes;
  cluster.node.devices = shape.devices;
  cluster.node.device_link_domain = shape.domain;
  cluster.node.device_link.bandwidth = BytesPerSecond(kDeviceLinkBandwidth);
  cluster.node.device_link.latency = Seconds(kDeviceLinkLatency);
  cluster.node.host_path.bandwidth = BytesPerSecond(kHostBandwidth);
  cluster.node.host_path.latency = Seconds(kHostLatency);
  cluster.node.host_path.shared_by = shape.host_shared_by;
  cluster.node.nics = shape.nics;
  cluster.network.bandwidth = BytesPerSecond(kPortBandwidth);
  cluster.network.port_latency = Seconds(kPortLatency);
  cluster.network.switch_latency = Seconds(kSwitchLatency);
  return cluster;
}

/// A plug-in chosen with the default values of its parameters.
inline scenario::PluginChoice choose(const catalog::PluginInfo& info) {
  scenario::PluginChoice choice;
  choice.name = info.name;
  for (const catalog::ParameterSpec& spec : info.parameters) {
    if (spec.kind == catalog::ParameterKind::kFile) {
      choice.parameters.set_choice(spec.name, "");  // for the caller to fill
    } else if (spec.kind == catalog::ParameterKind::kChoice) {
      choice.parameters.set_choice(spec.name, spec.default_value);
    } else {
      choice.parameters.set_number(spec.name, std::stod(spec.default_value));
    }
  }
  return choice;
}

}  // namespace lamina::testing
