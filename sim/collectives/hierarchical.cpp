#include <algorithm>
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
  double fraction = 0;       ///< of the payload, per step and hop
  bool by_switches = false;  ///< each port sends its members' share once and receives the sum once
};

class Hierarchical : public Collective {
 public:
  explicit Hierarchical(bool sharp) : sharp_(sharp) {}

  [[nodiscard]] std::vector<Candidate> candidates(CollectiveKind kind, const std::vector<int>& devices,
                                                  const fabric::Fabric& fabric) const override;
  [[nodiscard]] std::vector<MessageStep> messages(CollectiveKind kind, const std::vector<int>& devices,
                                                  const fabric::Fabric& fabric) const override;

 private:
  bool sharp_;
  std::unique_ptr<const Collective> ring_ = make_ring();
};

/// Empty when the collective is left to the ring.
std::vector<Stage> plan(CollectiveKind kind, const MemberOrder& order, bool sharp) {
  const std::int32_t inside = order.members_per_island();
  const std::int32_t between = order.islands();
  const bool by_switches = sharp && kind == CollectiveKind::kAllReduce && between > 1;
  if (by_switches && inside == 1) {
    return {{false, 1, 1, true}};
  }
  if (inside < 2 || between < 2) {
    return {};
  }
  const Stage scatter_or_gather{true, inside - 1, 1.0 / inside};
  const Stage outer{false, between - 1, 1.0 / (static_cast<double>(inside) * between)};
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return {scatter_or_gather,
              by_switches ? Stage{false, 1, 1.0 / inside, true} : Stage{false, 2 * outer.steps, outer.fraction},
              scatter_or_gather};
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

std::vector<Candidate> Hierarchical::candidates(CollectiveKind kind, const std::vector<int>& devices,
                                                const fabric::Fabric& fabric) const {
  const MemberOrder order = order_members(devices, fabric);
  const std::vector<Stage> stages = plan(kind, order, sharp_);
  if (stages.empty()) {
    return ring_->candidates(kind, devices, fabric);
  }
  FlowBuilder builder(fabric, devices);
  std::vector<FlowPhase> phases;
  for (const Stage& stage : stages) {
    if (stage.by_switches) {
      std::for_each(devices.begin(), devices.end(), [&builder](int device) { builder.add_port(device); });
      const int first = devices[static_cast<std::size_t>(order.members.front())];
      const int last = devices[static_cast<std::size_t>(order.members.back())];
      phases.push_back(builder.take(stage.fraction, {fabric::route(fabric, first, last).latency, 0, 1}));
      continue;
    }
    for_each_hop(order, stage.inside, [&builder](std::int32_t from, std::int32_t to) { builder.add_hop(from, to); });
    phases.push_back(builder.take(stage.steps * stage.fraction, stage.steps * builder.mean_hop()));
  }
  const bool by_switches =
      std::any_of(stages.begin(), stages.end(), [](const Stage& stage) { return stage.by_switches; });
  return {{by_switches ? kSharp : kHierarchical, std::move(phases)}};
}

std::vector<MessageStep> Hierarchical::messages(CollectiveKind kind, const std::vector<int>& devices,
                                                const fabric::Fabric& fabric) const {
  const MemberOrder order = order_members(devices, fabric);
  const std::vector<Stage> stages = plan(kind, order, sharp_);
  if (stages.empty()) {
    return ring_->messages(kind, devices, fabric);
  }
  std::vector<MessageStep> result;
  std::int32_t step = 0;
  for (const Stage& stage : stages) {
    if (stage.by_switches) {
      return {};
    }
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
  return std::make_unique<Hierarchical>(false);
}

std::unique_ptr<const Collective> make_sharp() {
  return std::make_unique<Hierarchical>(true);
}

}  // namespace lamina::collectives
