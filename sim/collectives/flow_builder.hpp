#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "sim/collectives/collective.hpp"
#include "sim/collectives/member_order.hpp"
#include "sim/fabric/fabric.hpp"

namespace lamina::collectives {

/// Collects the hops between members that make up one flow. Buffers are reused from flow to flow.
class FlowBuilder {
 public:
  FlowBuilder(const fabric::Fabric& fabric, const std::vector<int>& devices)
      : fabric_(&fabric), devices_(&devices), router_(fabric) {}

  /// Adds the route between two members; returns that hop.
  Hops add_hop(std::int32_t from_member, std::int32_t to_member);

  /// Adds both directions of the port that a device uses.
  /// @throws InternalError when it has none
  void add_port(int device);

  /// Adds the hops from each member of `members` to the next, and from the last to the first.
  void add_ring(std::span<const std::int32_t> members);

  /// The flow over all hops added since the last flow; `bytes_per_hop` is the payload share that each hop carries.
  /// Crossings of a link are counted; a factor common to all counts moves into bytes_per_payload.
  [[nodiscard]] FlowPhase take(double bytes_per_hop, const Hops& hops);

  /// Mean of the hops added since the last flow.
  [[nodiscard]] Hops mean_hop() const;

 private:
  [[nodiscard]] std::vector<LinkUse> count_by_sorting();
  [[nodiscard]] std::vector<LinkUse> count_by_table();

  const fabric::Fabric* fabric_;
  const std::vector<int>* devices_;
  fabric::Router router_;
  std::vector<fabric::LinkId> crossings_;
  std::vector<std::int32_t> table_;  ///< [link] crossings counted so far; empty until there are many
  /// Hops added, by latency: the mean of the same hops in another order must have the same bits, or folding parts them.
  std::map<double, Hops> added_;
};

}  // namespace lamina::collectives
