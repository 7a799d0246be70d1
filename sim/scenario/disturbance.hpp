#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/error/error.hpp"
#include "sim/units/quantity.hpp"

/// What is not as it should be in a cluster, or changes while a step runs. Devices and ports are checked against the
/// cluster; nothing here is relative to a node any more.
namespace lamina::scenario {

/// Compute takes `factor` times as long on `devices` devices from `first_device` on (a whole node, or one).
struct SlowDevice {
  int first_device = 0;
  int devices = 1;
  double factor = 1;  ///< >= 1: slower
};

/// From `at` on, the link has `share` of its bandwidth.
struct BandwidthChange {
  Seconds at;
  double share = 1;  ///< of the nominal bandwidth; 0: nothing passes
};

/// One link whose bandwidth is not the nominal one. Either a port of a node (both directions) or a link by its name in
/// reports (`lamina explain` prints them): "leaf 2 up", "node 3 port 1 down".
struct SlowLink {
  int node = -1;  ///< -1: `link` names it
  int port = 0;   ///< within the node
  std::string link;
  std::vector<BandwidthChange> profile;  ///< times ascend, the first is 0
  std::optional<Seconds> period;         ///< the profile starts again after this (a flapping link)
  error::Location location;              ///< where it is named: whether it exists shows when the network is built
  std::string key;
};

/// A network port (NIC or rail) that is gone: its devices use the node's next port.
struct FailedPort {
  int node = 0;
  int port = 0;
};

/// The host of one device stalls it (garbage collection, a slow data loader): `delay` before every `every`-th compute
/// operation.
struct HostDelay {
  int device = 0;
  Seconds delay;
  int every = 1;
};

enum class JitterDistribution {
  kLogNormal,    ///< mean 1: exp(N(-s^2/2, s^2)) with s^2 = ln(1 + sigma^2)
  kExponential,  ///< 1 + an exponential tail of mean sigma
};

/// Every operation's duration is multiplied by a factor drawn for it; the step is simulated `repeats` times.
struct Jitter {
  JitterDistribution distribution = JitterDistribution::kLogNormal;
  double standard_deviation = 0;  ///< sigma of the factor, relative
  std::uint64_t seed = 1;
  int repeats = 20;
};

struct Disturbances {
  std::vector<SlowDevice> slow_devices;
  std::vector<SlowLink> slow_links;
  std::vector<FailedPort> failed_ports;
  std::vector<HostDelay> host_delays;
  std::optional<Jitter> jitter;

  [[nodiscard]] bool empty() const {
    return slow_devices.empty() && slow_links.empty() && failed_ports.empty() && host_delays.empty() && !jitter;
  }
};

}  // namespace lamina::scenario
