#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "sim/scenario/resolve.hpp"

namespace lamina::scenario {
namespace {

/// Changes of a link come at least this far apart, so that a replay is not spent on them.
constexpr Seconds kLeastStretch{1e-6};
constexpr double kLeastShare = 1e-6;

void check_below(const SectionReader& reader, std::string_view key, std::int64_t value, std::int64_t count,
                 const std::string& what) {
  if (value >= count) {
    reader.fail_at(key, {fmt::format("There is no such {}.", what), fmt::format("{}", value),
                         count == 0 ? fmt::format("none: there is no {}", what) : fmt::format("0 to {}", count - 1)});
  }
}

int read_node_number(const SectionReader& reader, const Cluster& cluster) {
  const int node = reader.integer("node");
  check_below(reader, "node", node, cluster.nodes, "node");
  return node;
}

int read_port(const SectionReader& reader, const Cluster& cluster) {
  const int port = reader.integer("port");
  check_below(reader, "port", port, cluster.node.nics, "port in a node");
  return port;
}

/// Device of the cluster.
int read_device(const SectionReader& reader, const Cluster& cluster) {
  const int device = reader.integer("device");
  if (!reader.has("node")) {
    check_below(reader, "device", device, cluster.devices(), "device in the cluster");
    return device;
  }
  check_below(reader, "device", device, cluster.node.devices, "device in a node");
  return read_node_number(reader, cluster) * cluster.node.devices + device;
}

[[noreturn]] void fail_twice(const SectionReader& reader, const std::string& what) {
  fail(reader.tree().position.location(), reader.path("kind"),
       {fmt::format("{} is in the list twice.", what), "", "one entry for each thing"});
}

void add_slow_device(const SectionReader& reader, const Cluster& cluster, Disturbances& into) {
  SlowDevice slow;
  if (reader.has("device")) {
    slow.first_device = read_device(reader, cluster);
  } else {
    if (!reader.has("node")) {
      reader.fail_at("node", {"Which device is slow is not said.", "", "node, device, or both"});
    }
    slow.devices = cluster.node.devices;
    slow.first_device = read_node_number(reader, cluster) * slow.devices;
  }
  slow.factor = reader.number("factor");
  for (const SlowDevice& other : into.slow_devices) {
    const int first = std::max(slow.first_device, other.first_device);
    if (first < std::min(slow.first_device + slow.devices, other.first_device + other.devices)) {
      fail_twice(reader, fmt::format("Device {}", first));
    }
  }
  into.slow_devices.push_back(slow);
}

std::vector<BandwidthChange> read_profile(const Context& context, const SectionReader& reader) {
  const auto items =
      read_items(context.schema, *reader.section().find("profile"), *reader.value("profile"), reader.path("profile"));
  std::vector<BandwidthChange> profile;
  for (const SectionReader& item : items) {
    const auto at = item.quantity<Seconds>("at");
    if (profile.empty() && at.value() != 0) {
      item.fail_at("at", {"The first share must hold from the start.", describe(*item.value("at")), "0 s"});
    }
    if (!profile.empty() && at < profile.back().at + kLeastStretch) {
      item.fail_at("at", {"The times do not ascend, or by less than a microsecond.", describe(*item.value("at")),
                          fmt::format("at least {} s", (profile.back().at + kLeastStretch).value())});
    }
    const double share = item.number("share");
    if (share > 0 && share < kLeastShare) {
      item.fail_at("share", {"The share is too small.", describe(*item.value("share")), "0, or 1e-6 to 1"});
    }
    profile.push_back({at, share});
  }
  if (profile.empty()) {
    reader.fail_at("profile", {"The profile is empty.", "", "at least one mapping with `at` and `share`"});
  }
  return profile;
}

void read_period(const SectionReader& reader, SlowLink& slow) {
  if (!reader.has("period")) {
    if (slow.profile.back().share == 0) {
      reader.fail_at("profile", {"The last share is 0, so that the link is down for good and the step would never end.",
                                 "", "a last share above 0, a `period`, or kind: failed_port"});
    }
    return;
  }
  slow.period = reader.quantity<Seconds>("period");
  if (*slow.period < slow.profile.back().at + kLeastStretch) {
    reader.fail_at("period", {"The period ends before the profile.", describe(*reader.value("period")),
                              fmt::format("at least {} s", (slow.profile.back().at + kLeastStretch).value())});
  }
  const bool passes = std::any_of(slow.profile.begin(), slow.profile.end(),
                                  [](const BandwidthChange& change) { return change.share > 0; });
  if (!passes) {
    reader.fail_at("profile", {"All shares are 0: nothing would ever pass.", "", "a share above 0"});
  }
}

void read_link(const SectionReader& reader, const Cluster& cluster, SlowLink& slow) {
  const char* key = reader.has("link") ? "link" : "node";
  if (reader.has("link") == reader.has("node")) {
    reader.fail_at(key, {reader.has("link") ? "The link is given twice." : "Which link is slow is not said.", "",
                         "either node and port, or link"});
  }
  slow.location = reader.value(key)->position.location();
  slow.key = reader.path(key);
  if (reader.has("link")) {
    if (reader.has("port")) {
      reader.fail_at("port", {"A port goes with `node`, not with `link`.", "", "node and port, or link"});
    }
    slow.link = reader.text("link");
    return;
  }
  reader.require("port");
  slow.node = read_node_number(reader, cluster);
  slow.port = read_port(reader, cluster);
}

void add_slow_link(const Context& context, const SectionReader& reader, const Cluster& cluster, Disturbances& into) {
  SlowLink slow;
  read_link(reader, cluster, slow);
  if (reader.has("share") == reader.has("profile")) {
    reader.fail_at(reader.has("share") ? "profile" : "share",
                   {reader.has("share") ? "The share is given twice." : "The share is not given.", "",
                    "exactly one of share and profile"});
  }
  if (reader.has("share")) {
    if (reader.has("period")) {
      reader.fail_at("period", {"A period goes with `profile`, not with `share`.", "", "profile"});
    }
    slow.profile = {{Seconds(0), reader.number("share")}};
  } else {
    slow.profile = read_profile(context, reader);
    read_period(reader, slow);
  }
  for (const SlowLink& other : into.slow_links) {
    if (other.node == slow.node && other.port == slow.port && other.link == slow.link) {
      fail_twice(reader, slow.node < 0 ? fmt::format("The link \"{}\"", slow.link.substr(0, 80))
                                       : fmt::format("Port {} of node {}", slow.port, slow.node));
    }
  }
  into.slow_links.push_back(std::move(slow));
}

void add_failed_port(const SectionReader& reader, const Cluster& cluster, Disturbances& into) {
  const FailedPort failed{read_node_number(reader, cluster), read_port(reader, cluster)};
  for (const FailedPort& other : into.failed_ports) {
    if (other.node == failed.node && other.port == failed.port) {
      fail_twice(reader, fmt::format("Port {} of node {}", failed.port, failed.node));
    }
  }
  into.failed_ports.push_back(failed);
}

void add_host_delay(const SectionReader& reader, const Cluster& cluster, Disturbances& into) {
  const HostDelay delay{read_device(reader, cluster), reader.quantity<Seconds>("delay"), reader.integer("every")};
  for (const HostDelay& other : into.host_delays) {
    if (other.device == delay.device) {
      fail_twice(reader, fmt::format("Device {}", delay.device));
    }
  }
  into.host_delays.push_back(delay);
}

void add_jitter(const SectionReader& reader, Disturbances& into) {
  if (into.jitter) {
    fail_twice(reader, "The kind jitter");
  }
  Jitter jitter;
  jitter.distribution =
      reader.text("distribution") == "exponential" ? JitterDistribution::kExponential : JitterDistribution::kLogNormal;
  jitter.standard_deviation = reader.number("standard_deviation");
  jitter.seed = static_cast<std::uint64_t>(reader.large_integer("seed"));
  jitter.repeats = reader.integer("repeats");
  into.jitter = jitter;
}

}  // namespace

Disturbances read_disturbances(const Context& context, const Tree& value, const Cluster& cluster) {
  const KeySpec& spec = *context.schema.section("scenario").find("disturb");
  Disturbances disturbances;
  for (const SectionReader& reader : read_items(context.schema, spec, value, spec.name)) {
    const std::string kind = reader.text("kind");
    if (kind == "slow_device") {
      add_slow_device(reader, cluster, disturbances);
    } else if (kind == "slow_link") {
      add_slow_link(context, reader, cluster, disturbances);
    } else if (kind == "failed_port") {
      add_failed_port(reader, cluster, disturbances);
    } else if (kind == "host_delay") {
      add_host_delay(reader, cluster, disturbances);
    } else {
      add_jitter(reader, disturbances);
    }
  }
  return disturbances;
}

}  // namespace lamina::scenario
