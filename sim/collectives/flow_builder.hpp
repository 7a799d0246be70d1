#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/collectives/collective.hpp"
#include "sim/collectives/member_order.hpp"
#include "sim/fabric/fabric.hpp"

namespace lamina::collectives {

/// Before a collective of these members moves anything.
[[nodiscard]] inline Seconds start_of(const MemberOrder& order, const fabric::Fabric& fabric) {
  return order.islands() > 1 ? fabric.network_start : fabric.device_link_start;
}

/// Collects the hops between members that make up one flow. Buffers are reused from flow to flow.
class FlowBuilder {
 public:
  FlowBuilder(const fabric::Fabric& fabric, const std::vector<int>& devices)
      : fabric_(&fabric), devices_(&devices), router_(fabric) {}

  /// Adds the route between two members; returns its latency.
  Seconds add_hop(std::int32_t from_member, std::int32_t to_member);

  /// Adds the hops from each member of `members` to the next, and from the last to the first.
  void add_ring(std::span<const std::int32_t> members);

  /// The flow over all hops added since the last flow; `bytes_per_hop` is the payload share that each hop carries.
  /// Crossings of a link are counted; a factor common to all counts moves into bytes_per_payload.
  [[nodiscard]] FlowPhase take(double bytes_per_hop, Seconds latency);

  /// Largest latency of the hops added since the last flow.
  [[nodiscard]] Seconds slowest_hop() const { return slowest_; }

 private:
  [[nodiscard]] std::vector<LinkUse> count_by_sorting();
  [[nodiscard]] std::vector<LinkUse> count_by_table();

  const fabric::Fabric* fabric_;
  const std::vector<int>* devices_;
  fabric::Router router_;
  std::vector<fabric::LinkId> crossings_;
  std::vector<std::int32_t> table_;  ///< [link] crossings counted so far; empty until there are many
  Seconds slowest_;
};

}  // namespace lamina::collectives
