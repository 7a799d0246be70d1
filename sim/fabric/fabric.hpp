#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sim/scenario/scenario.hpp"
#include "sim/units/quantity.hpp"

/// Devices, ports, directed links and routes of a cluster as plain data; no simulator types.
namespace lamina::fabric {

enum class LinkClass : std::uint8_t {
  kDeviceLink,  ///< NVLink: device <-> switch of its domain
  kHostPath,    ///< PCIe: device <-> host memory
  kPort,        ///< NIC <-> first switch
  kTrunk,       ///< switch <-> switch
};

inline constexpr int kLinkClasses = 4;

[[nodiscard]] const char* name_of(LinkClass link_class);

/// One direction of a link, or a bundle of parallel links that traffic is spread over evenly. Big fabrics have
/// millions: their names are made on demand, see link_name().
struct Link {
  BytesPerSecond bandwidth;
  LinkClass link_class = LinkClass::kPort;
  /// True when the links that feed it (or drain it) cannot fill it, so that it never limits a flow: a non-blocking
  /// trunk. The replay leaves such links out; their bytes are still counted.
  bool never_limits = false;
};

using LinkId = std::int32_t;

inline constexpr LinkId kNoLink = -1;

struct Device {
  std::int32_t node = 0;
  std::int32_t domain = 0;     ///< NVLink domain number, cluster-wide
  LinkId to_domain = kNoLink;  ///< device -> NVSwitch
  LinkId from_domain = kNoLink;
  LinkId to_host = kNoLink;
  LinkId from_host = kNoLink;
  std::int32_t port = -1;  ///< network port it uses; -1: none
};

struct Port {
  std::int32_t node = 0;
  std::int32_t index = 0;  ///< within the node (the rail)
  LinkId up = kNoLink;     ///< port -> network
  LinkId down = kNoLink;   ///< network -> port
  std::int32_t plane = 0;  ///< ports of different planes reach each other through a device of the sender's node only
};

/// The part of a route between two ports, without the ports' own links. Empty when handed to Fabric::network_route.
struct NetworkHop {
  std::vector<LinkId> links;
  int switches = 0;
  Seconds cables{0};  ///< latency of the cables, where a topology knows them
};

struct Fabric {
  std::vector<Device> devices;
  std::vector<Port> ports;
  std::vector<Link> links;
  Seconds device_link_latency;  ///< device -> device inside a domain
  Seconds host_latency;
  Seconds port_latency;                                             ///< both ends together
  Seconds switch_latency;                                           ///< per switch
  std::vector<scenario::CollectiveProtocol> device_link_protocols;  ///< of collectives inside a domain
  std::vector<scenario::CollectiveProtocol> network_protocols;      ///< of collectives that leave a domain
  std::string description;  ///< one line: "fat tree, 2 levels, 76 leaves of 32 nodes, non-blocking"
  /// Trunk links and switches from one port to another (different ports of one plane). Set by the topology; null when
  /// there is no network.
  std::function<void(std::int32_t from_port, std::int32_t to_port, NetworkHop& hop)> network_route;
  std::function<std::string(LinkId)> trunk_name;  ///< names of the topology's own links; null when it has none
};

/// Links in order and fixed latency of a transfer.
struct Route {
  std::vector<LinkId> links;
  Seconds latency;
};

/// Routes of one fabric (which must outlive it) into the caller's buffer, without an allocation per route.
///
/// Device to device: over the device links if both are in one domain; else over host paths (up from one, down to the
/// other) if both are in one node and have them; else through both devices' ports and the network, by GPUDirect:
/// neither host paths nor device links are charged, and traffic to the port of another device of the node does not hop
/// over NVLink first. Latency: device_link_latency; 2 x host_latency; port_latency + switches x switch_latency +
/// cables.
///
/// If the two ports are on different planes, the data first goes to the device of the sender's node that stands where
/// the receiver stands in its own node, over the device link or the host paths, and leaves through that device's port:
/// NCCL's PXN (NCCL 2.12). The latencies add up. If that device's port is on neither plane (a port has failed), the
/// next devices of the node are tried, going round; if the sender's node has no port on the receiver's plane, the data
/// changes device in the receiver's node; if neither helps, in both nodes.
class Router {
 public:
  explicit Router(const Fabric& fabric) : fabric_(&fabric) {}

  /// Appends the links from `from_device` to `to_device` to `links` and returns the route's latency.
  /// @throws InternalError if from == to, a device does not exist or no path exists
  Seconds append(int from_device, int to_device, std::vector<LinkId>& links);

 private:
  Seconds append_network(const Device& from, const Device& to, std::vector<LinkId>& links);
  Seconds append_between_planes(int from_device, int to_device, std::vector<LinkId>& links);

  const Fabric* fabric_;
  NetworkHop hop_;
};

/// One route, as Router finds it.
/// @throws InternalError if from == to, a device does not exist or no path exists
[[nodiscard]] Route route(const Fabric& fabric, int from_device, int to_device);

/// Device to host memory (or back).
/// @throws InternalError if the device does not exist or has no host path
[[nodiscard]] Route host_route(const Fabric& fabric, int device, bool to_host);

/// "node 3 port 1 up", "device 12 to domain switch", "leaf 2 down", ... A host path has the name of its first device.
/// Logarithmic time on fabrics of build_nodes, linear on others.
/// @throws InternalError if there is no such link
[[nodiscard]] std::string link_name(const Fabric& fabric, LinkId link);

/// Port of a node's device number `local`: devices share the node's ports (at least one) evenly, in order.
[[nodiscard]] constexpr int port_of(const scenario::Node& node, int local) {
  return static_cast<int>(std::int64_t{local} * node.nics / node.devices);
}

/// Most devices that build_nodes accepts: ids of all links stay well inside LinkId, the fabric inside a few GB.
inline constexpr std::int64_t kMostDevices = 10'000'000;

/// Devices, device links, host paths and ports of `cluster`; a topology adds the network behind the ports.
///
/// Per device and direction one device link (none in a domain of one device), per `shared_by` devices of a node one
/// host path, per port one link up and one down at bandwidth x efficiency of the network. Device i of a node uses its
/// port i x nics / devices. Consecutive devices fill a domain, across nodes if it is larger than a node.
/// @throws InternalError on counts that the scenario loader refuses (no device, more than kMostDevices)
[[nodiscard]] Fabric build_nodes(const scenario::Cluster& cluster);

}  // namespace lamina::fabric
