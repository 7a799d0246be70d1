#include <utility>
#include <vector>

#include "sim/collectives/algorithms.hpp"
#include "sim/collectives/flow_builder.hpp"
#include "sim/collectives/member_order.hpp"

namespace lamina::collectives {
namespace {

using graph::CollectiveKind;

/// One stage of a hierarchical collective: rings inside all islands, or rings between them.
struct Stage {
  bool inside = false;
  std::int32_t steps = 0;
  double fraction = 0;  ///< of the payload, per step and hop
};

class Hierarchical : public Collective {
 public:
  [[nodiscard]] std::vector<FlowPhase> phases(CollectiveKind kind, const std::vector<int>& devices,
                                              const fabric::Fabric& fabric) const override;
  [[nodiscard]] std::vector<MessageStep> messages(CollectiveKind kind, const std::vector<int>& devices,
                                                  const fabric::Fabric& fabric) const override;

 private:
  std::unique_ptr<const Collective> ring_ = make_ring();
};

/// Empty when the collective is left to the ring.
std::vector<Stage> plan(CollectiveKind kind, const MemberOrder& order) {
  const std::int32_t inside = order.members_per_island();
  const std::int32_t between = order.islands();
  if (inside < 2 || between < 2) {
    return {};
  }
  const Stage scatter_or_gather{true, inside - 1, 1.0 / inside};
  const Stage outer{false, between - 1, 1.0 / (static_cast<double>(inside) * between)};
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return {scatter_or_gather, {false, 2 * outer.steps, outer.fraction}, scatter_or_gather};
    case CollectiveKind::kReduceScatter:
      return {scatter_or_gather, outer};
    case CollectiveKind::kAllGather:
      return {outer, scatter_or_gather};
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kAllToAll:
      break;
  }
  return {};
}

/// Calls visit(from member, to member) for every hop of the stage's rings.
template <class Visit>
void for_each_hop(const MemberOrder& order, bool inside, Visit visit) {
  const std::int32_t size = order.members_per_island();
  const std::int32_t total = order.size();
  for (std::int32_t position = 0; position < total; ++position) {
    const std::int32_t island_begin = position - position % size;
    const std::int32_t next = inside ? island_begin + (position + 1 - island_begin) % size : (position + size) % total;
    visit(order.members[static_cast<std::size_t>(position)], order.members[static_cast<std::size_t>(next)]);
  }
}

std::vector<FlowPhase> Hierarchical::phases(CollectiveKind kind, const std::vector<int>& devices,
                                            const fabric::Fabric& fabric) const {
  const MemberOrder order = order_members(devices, fabric);
  const std::vector<Stage> stages = plan(kind, order);
  if (stages.empty()) {
    return ring_->phases(kind, devices, fabric);
  }
  FlowBuilder builder(fabric, devices);
  Seconds start = start_of(order, fabric);
  std::vector<FlowPhase> result;
  for (const Stage& stage : stages) {
    for_each_hop(order, stage.inside, [&builder](std::int32_t from, std::int32_t to) { builder.add_hop(from, to); });
    result.push_back(builder.take(stage.steps * stage.fraction, start + stage.steps * builder.slowest_hop()));
    start = Seconds(0);
  }
  return result;
}

std::vector<MessageStep> Hierarchical::messages(CollectiveKind kind, const std::vector<int>& devices,
                                                const fabric::Fabric& fabric) const {
  const MemberOrder order = order_members(devices, fabric);
  const std::vector<Stage> stages = plan(kind, order);
  if (stages.empty()) {
    return ring_->messages(kind, devices, fabric);
  }
  std::vector<MessageStep> result;
  std::int32_t step = 0;
  for (const Stage& stage : stages) {
    for (const std::int32_t end = step + stage.steps; step < end; ++step) {
      for_each_hop(order, stage.inside, [&](std::int32_t from, std::int32_t to) {
        result.push_back({from, to, stage.fraction, step});
      });
    }
  }
  return result;
}

}  // namespace

std::unique_ptr<const Collective> make_hierarchical() {
  return std::make_unique<Hierarchical>();
}

}  // namespace lamina::collectives
