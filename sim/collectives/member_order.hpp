#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/fabric/fabric.hpp"

namespace lamina::collectives {

/// Members of a group in ring order. An island is a run of members that reach each other without the network: devices
/// of one node, or of one device-link domain if that is larger.
struct MemberOrder {
  std::vector<std::int32_t> members;       ///< [position] index into the group; sorted by node, then by device
  std::vector<std::int32_t> island_start;  ///< [island] first position; and the size of the group at the end

  [[nodiscard]] std::int32_t size() const { return static_cast<std::int32_t>(members.size()); }

  [[nodiscard]] std::int32_t islands() const { return static_cast<std::int32_t>(island_start.size()) - 1; }

  /// Members of every island if all islands have equally many, otherwise 0.
  [[nodiscard]] std::int32_t members_per_island() const;
};

/// Devices that reach each other over the network only.
[[nodiscard]] inline bool share_no_island(const fabric::Device& a, const fabric::Device& b) {
  return a.node != b.node && (a.domain != b.domain || a.to_domain == fabric::kNoLink);
}

/// @throws InternalError on fewer than two devices, an unknown device or the same device twice
[[nodiscard]] MemberOrder order_members(const std::vector<int>& devices, const fabric::Fabric& fabric);

/// Rings over the same members that share the work: one per port that every island has.
struct Channels {
  std::int32_t count = 1;
  std::vector<std::int32_t> members;  ///< [channel x size + position]

  [[nodiscard]] std::span<const std::int32_t> ring(std::int32_t channel) const {
    const std::size_t size = members.size() / static_cast<std::size_t>(count);
    return {members.data() + static_cast<std::size_t>(channel) * size, size};
  }
};

/// As NCCL builds its rings: with P distinct ports in each island (the least number over the islands) there are P
/// channels; each enters an island at a device of one port, visits all members over the device links and leaves at a
/// device of the port at which it enters the next island, so that every edge of a channel stays on one rail and every
/// port is used by one channel in each direction.
///
/// Where each port has two or more members, channel c enters and leaves by port c. Where a port has one member only,
/// the ring cannot leave where it entered: it then leaves by port c + 1, and channels alternate between the two rails
/// from island to island (NCCL_CROSS_NIC: alternating rings); an odd number of islands takes a third port for the last
/// one, or, if there is none, crosses from rail to rail once. One island, or one member per island: one channel in
/// member order.
[[nodiscard]] Channels build_channels(const MemberOrder& order, const std::vector<int>& devices,
                                      const fabric::Fabric& fabric);

/// The member at each port that every island has: trees of nodes meet there.
struct PortHeads {
  std::int32_t ports = 1;
  std::vector<std::int32_t> positions;  ///< [port x islands + island] in MemberOrder::members

  [[nodiscard]] std::span<const std::int32_t> of_port(std::int32_t port) const {
    const std::size_t islands = positions.size() / static_cast<std::size_t>(ports);
    return {positions.data() + static_cast<std::size_t>(port) * islands, islands};
  }
};

[[nodiscard]] PortHeads find_port_heads(const MemberOrder& order, const std::vector<int>& devices,
                                        const fabric::Fabric& fabric);

}  // namespace lamina::collectives
