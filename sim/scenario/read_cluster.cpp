#include <limits>
#include <utility>

#include <fmt/core.h>

#include "sim/scenario/merge.hpp"
#include "sim/scenario/resolve.hpp"

namespace lamina::scenario {
namespace {

/// Reader of a catalogue reference, resolved.
SectionReader open(const Context& context, std::string_view kind, const Tree& value, const std::string& path) {
  return {context.schema.section(kind), context.catalogue.resolve(kind, value, path), path};
}

template <class Entry>
void read_origin(const SectionReader& reader, Entry& entry) {
  entry.name = reader.text_or("name", "inline");
  entry.source = reader.text_or("source", "");
}

void check_node(const SectionReader& reader, const Node& node) {
  const int domain = node.device_link_domain;
  if (node.devices % domain != 0 && domain % node.devices != 0) {
    reader.fail_at("device_link_domain",
                   {fmt::format("{} accelerators per switch domain do not fit nodes of {}.", domain, node.devices), "",
                    "a divisor or a multiple of devices"});
  }
  if (node.nics > node.devices) {
    reader.fail_at("nics", {"A node has at most one network port per accelerator; join faster ports into one.",
                            fmt::format("{} ports for {} accelerators", node.nics, node.devices)});
  }
}

/// `cluster.accelerator` on top of the node's: a name replaces it, a mapping without `base` changes it.
Tree with_accelerator(const Context& context, const Tree& node, const Tree& accelerator) {
  Tree changes = mapping(accelerator.position);
  changes.set("accelerator", accelerator);
  const Position position = node.position;
  Tree whole = overlay(context.schema, context.schema.section("node"),
                       context.catalogue.resolve("node", node, "cluster.node"), changes);
  whole.position = position;
  return whole;
}

std::string default_topology(bool has_network) {
  return has_network ? "fat_tree" : "nvlink_switch";
}

void check_size(const SectionReader& reader, const Cluster& cluster) {
  constexpr double kMostDevices = 1e7;
  const double devices = static_cast<double>(cluster.nodes) * cluster.node.devices;
  if (devices > kMostDevices) {
    reader.fail_at("nodes", {"The cluster is larger than can be simulated.",
                             fmt::format("{:.0f} accelerators", devices), fmt::format("at most {:.0f}", kMostDevices)});
  }
  if (cluster.node.nics == 0 && cluster.nodes > 1 && cluster.topology.name != "nvlink_switch") {
    reader.fail_at("node",
                   {"Several nodes without network ports cannot reach each other.", "nics: 0", "nics of at least 1"});
  }
}

std::vector<CollectiveProtocol> read_protocols(const Schema& schema, const SectionReader& links) {
  std::vector<CollectiveProtocol> protocols;
  if (!links.has("protocols")) {
    return protocols;
  }
  bool general = false;
  for (const SectionReader& reader :
       read_items(schema, *links.section().find("protocols"), *links.value("protocols"), links.path("protocols"))) {
    CollectiveProtocol& protocol = protocols.emplace_back();
    protocol.name = reader.text("name");
    protocol.algorithm = reader.has("algorithm") ? reader.text("algorithm") : "";
    protocol.start = reader.quantity<Seconds>("start");
    protocol.hop = reader.quantity<Seconds>("hop");
    protocol.efficiency = reader.number("efficiency");
    general = general || protocol.algorithm.empty();
  }
  if (!general) {
    links.fail_at("protocols", {"No protocol holds for all algorithms.",
                                protocols.empty() ? "an empty list" : "`algorithm` in every entry",
                                "at least one without `algorithm`, for those that none names"});
  }
  return protocols;
}

}  // namespace

Accelerator read_accelerator(const Context& context, const Tree& value, const std::string& path) {
  const SectionReader reader = open(context, "accelerator", value, path);
  Accelerator accelerator;
  read_origin(reader, accelerator);
  const SectionReader peak(context.schema.section("peak"), *reader.value("peak"), reader.path("peak"));
  for (const KeySpec& spec : peak.section().keys) {
    if (peak.has(spec.name)) {
      accelerator.peak[data_type_of(spec.name).value()] = peak.quantity<FlopsPerSecond>(spec.name);
    }
  }
  if (accelerator.peak.empty()) {
    reader.fail_at("peak", {"The accelerator supports no data type.", "", "a peak rate for at least one type"});
  }
  accelerator.memory = reader.quantity<Bytes>("memory");
  accelerator.memory_bandwidth = reader.quantity<BytesPerSecond>("memory_bandwidth");
  accelerator.multiprocessors = reader.integer("multiprocessors");
  return accelerator;
}

DeviceLink read_device_link(const Context& context, const Tree& value, const std::string& path) {
  const SectionReader reader = open(context, "device_link", value, path);
  DeviceLink link;
  read_origin(reader, link);
  link.bandwidth = reader.quantity<BytesPerSecond>("bandwidth");
  link.latency = reader.quantity<Seconds>("latency");
  link.protocols = read_protocols(context.schema, reader);
  return link;
}

HostPath read_host_path(const Context& context, const Tree& value, const std::string& path) {
  const SectionReader reader = open(context, "host_path", value, path);
  HostPath host;
  read_origin(reader, host);
  host.bandwidth = reader.quantity<BytesPerSecond>("bandwidth");
  host.latency = reader.quantity<Seconds>("latency");
  host.shared_by = reader.integer("shared_by");
  return host;
}

Network read_network(const Context& context, const Tree& value, const std::string& path) {
  const SectionReader reader = open(context, "network", value, path);
  Network network;
  read_origin(reader, network);
  network.bandwidth = reader.quantity<BytesPerSecond>("bandwidth");
  network.port_latency = reader.quantity<Seconds>("port_latency");
  network.switch_latency = reader.quantity<Seconds>("switch_latency");
  network.protocols = read_protocols(context.schema, reader);
  network.efficiency = reader.number("efficiency");
  return network;
}

Node read_node(const Context& context, const Tree& value, const std::string& path) {
  const SectionReader reader = open(context, "node", value, path);
  Node node;
  read_origin(reader, node);
  node.devices = reader.integer("devices");
  node.accelerator = read_accelerator(context, *reader.value("accelerator"), reader.path("accelerator"));
  node.device_link = read_device_link(context, *reader.value("device_link"), reader.path("device_link"));
  node.device_link_domain = static_cast<int>(reader.large_integer_or("device_link_domain", node.devices));
  node.host_path = read_host_path(context, *reader.value("host_path"), reader.path("host_path"));
  node.nics = reader.integer("nics");
  node.host_memory = reader.quantity<Bytes>("host_memory");
  check_node(reader, node);
  return node;
}

Tree resolved_accelerator(const Context& context, const Tree& cluster) {
  const TreeEntry* accelerator = cluster.find("accelerator");
  const Tree& written = cluster.find("node")->value;
  const Tree node = context.catalogue.resolve(
      "node", accelerator == nullptr ? written : with_accelerator(context, written, accelerator->value),
      "cluster.node");
  return context.catalogue.resolve("accelerator", node.find("accelerator")->value, "cluster.node.accelerator");
}

Cluster read_cluster(const Context& context, const Tree& value) {
  const SectionReader reader(context.schema.section("cluster"), value, "cluster");
  Cluster cluster;
  cluster.nodes = reader.integer("nodes");
  const Tree* accelerator = reader.value("accelerator");
  const Tree& node = *reader.value("node");
  cluster.node = read_node(context, accelerator == nullptr ? node : with_accelerator(context, node, *accelerator),
                           reader.path("node"));
  const Tree* network = reader.value("network");
  cluster.topology =
      read_plugin(context.schema, kTopologyKind, reader.value("topology"), default_topology(network != nullptr),
                  reader.tree().position, reader.path("topology"), context.folder);
  if (network != nullptr) {
    cluster.network = read_network(context, *network, reader.path("network"));
  } else if (cluster.topology.name != "nvlink_switch" ||
             cluster.nodes * cluster.node.devices > cluster.node.device_link_domain) {
    reader.require("network");
  } else {
    cluster.network.name = "none";
  }
  check_size(reader, cluster);
  return cluster;
}

}  // namespace lamina::scenario
