#include "sim/collectives/member_order.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>

#include "sim/error/error.hpp"

namespace lamina::collectives {
namespace {

std::size_t at(std::int32_t index) {
  return static_cast<std::size_t>(index);
}

/// Members of one island that share a port: positions [first, last].
struct PortRun {
  std::int32_t first = 0;
  std::int32_t last = 0;
};

/// Runs of each island, the same number of leading ones of each being used.
struct PortRuns {
  std::vector<PortRun> runs;
  std::vector<std::int32_t> island_start;  ///< [island] first run
  std::int32_t ports = 1;                  ///< least number over the islands
  bool alternates = false;                 ///< some used port has one member of several

  [[nodiscard]] const PortRun& run(std::int32_t island, std::int32_t port) const {
    return runs[at(island_start[at(island)] + port)];
  }
};

PortRuns find_port_runs(const MemberOrder& order, const std::vector<int>& devices, const fabric::Fabric& fabric) {
  const auto port_at = [&](std::int32_t position) {
    return fabric.devices[at(devices[at(order.members[at(position)])])].port;
  };
  PortRuns result;
  result.ports = std::numeric_limits<std::int32_t>::max();
  for (std::int32_t island = 0; island < order.islands(); ++island) {
    const auto first_run = static_cast<std::int32_t>(result.runs.size());
    result.island_start.push_back(first_run);
    const std::int32_t end = order.island_start[at(island) + 1];
    for (std::int32_t position = order.island_start[at(island)]; position < end; ++position) {
      if (position == order.island_start[at(island)] || port_at(position) != port_at(position - 1)) {
        result.runs.push_back({position, position});
      } else {
        result.runs.back().last = position;
      }
    }
    result.ports = std::min(result.ports, static_cast<std::int32_t>(result.runs.size()) - first_run);
  }
  for (std::int32_t island = 0; island < order.islands(); ++island) {
    const bool several = order.island_start[at(island) + 1] - order.island_start[at(island)] > 1;
    for (std::int32_t port = 0; port < result.ports && several; ++port) {
      result.alternates = result.alternates || result.run(island, port).first == result.run(island, port).last;
    }
  }
  return result;
}

/// Port by which `channel` enters `island`.
std::int32_t entry_port(const PortRuns& runs, std::int32_t islands, std::int32_t channel, std::int32_t island) {
  if (!runs.alternates) {
    return channel;
  }
  const bool odd_end = island == islands - 1 && islands % 2 == 1;
  return (channel + (odd_end ? 2 : island % 2)) % runs.ports;
}

/// Appends the members of `island`, from position `entry` to position `exit`, the others in between in cyclic order.
void append_island(const MemberOrder& order, std::int32_t island, std::int32_t entry, std::int32_t exit,
                   std::vector<std::int32_t>& members) {
  const std::int32_t begin = order.island_start[at(island)];
  const std::int32_t size = order.island_start[at(island) + 1] - begin;
  members.push_back(order.members[at(entry)]);
  for (std::int32_t step = 1; step < size; ++step) {
    const std::int32_t position = begin + (entry - begin + step) % size;
    if (position != exit) {
      members.push_back(order.members[at(position)]);
    }
  }
  if (exit != entry) {
    members.push_back(order.members[at(exit)]);
  }
}

void append_channel(const MemberOrder& order, const PortRuns& runs, std::int32_t channel,
                    std::vector<std::int32_t>& members) {
  const std::int32_t islands = order.islands();
  for (std::int32_t island = 0; island < islands; ++island) {
    const std::int32_t entry_at = entry_port(runs, islands, channel, island);
    const std::int32_t exit_at = entry_port(runs, islands, channel, (island + 1) % islands);
    const std::int32_t entry = runs.run(island, entry_at).first;
    std::int32_t exit = runs.run(island, exit_at).last;
    if (exit == entry) {  // leave elsewhere, and cross rails
      exit = runs.run(island, (exit_at + 1) % runs.ports).last;
    }
    if (exit == entry) {  // one port in use: any other member, if there is one
      exit = entry == order.island_start[at(island)] ? order.island_start[at(island) + 1] - 1
                                                     : order.island_start[at(island)];
    }
    append_island(order, island, entry, exit, members);
  }
}

}  // namespace

std::int32_t MemberOrder::members_per_island() const {
  const std::int32_t first = island_start[1] - island_start[0];
  for (std::size_t island = 1; island + 1 < island_start.size(); ++island) {
    if (island_start[island + 1] - island_start[island] != first) {
      return 0;
    }
  }
  return first;
}

MemberOrder order_members(const std::vector<int>& devices, const fabric::Fabric& fabric) {
  if (devices.size() < 2) {
    throw error::InternalError("a collective needs at least two devices");
  }
  for (const int device : devices) {
    if (device < 0 || at(device) >= fabric.devices.size()) {
      throw error::InternalError("a collective has no device " + std::to_string(device));
    }
  }
  const auto before = [&](std::int32_t a, std::int32_t b) {
    const int device_a = devices[at(a)];
    const int device_b = devices[at(b)];
    const std::int32_t node_a = fabric.devices[at(device_a)].node;
    const std::int32_t node_b = fabric.devices[at(device_b)].node;
    return node_a != node_b ? node_a < node_b : device_a < device_b;
  };
  MemberOrder order;
  order.members.resize(devices.size());
  std::iota(order.members.begin(), order.members.end(), 0);
  if (!std::is_sorted(order.members.begin(), order.members.end(), before)) {
    std::sort(order.members.begin(), order.members.end(), before);
  }
  order.island_start.push_back(0);
  for (std::int32_t position = 1; position < order.size(); ++position) {
    const int device = devices[at(order.members[at(position)])];
    const int previous = devices[at(order.members[at(position) - 1])];
    if (device == previous) {
      throw error::InternalError("a collective has device " + std::to_string(device) + " twice");
    }
    if (share_no_island(fabric.devices[at(previous)], fabric.devices[at(device)])) {
      order.island_start.push_back(position);
    }
  }
  order.island_start.push_back(order.size());
  return order;
}

Channels build_channels(const MemberOrder& order, const std::vector<int>& devices, const fabric::Fabric& fabric) {
  if (order.islands() == 1 || order.islands() == order.size()) {
    return {1, order.members};
  }
  const PortRuns runs = find_port_runs(order, devices, fabric);
  Channels channels;
  channels.count = runs.ports;
  channels.members.reserve(order.members.size() * at(runs.ports));
  for (std::int32_t channel = 0; channel < runs.ports; ++channel) {
    append_channel(order, runs, channel, channels.members);
  }
  return channels;
}

PortHeads find_port_heads(const MemberOrder& order, const std::vector<int>& devices, const fabric::Fabric& fabric) {
  const PortRuns runs = find_port_runs(order, devices, fabric);
  PortHeads heads;
  heads.ports = runs.ports;
  heads.positions.reserve(at(runs.ports) * at(order.islands()));
  for (std::int32_t port = 0; port < runs.ports; ++port) {
    for (std::int32_t island = 0; island < order.islands(); ++island) {
      heads.positions.push_back(runs.run(island, port).first);
    }
  }
  return heads;
}

}  // namespace lamina::collectives
