#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <vector>

#include "sim/collectives/algorithms.hpp"
#include "sim/collectives/flow_builder.hpp"
#include "sim/collectives/island_trees.hpp"
#include "sim/collectives/member_order.hpp"

namespace lamina::collectives {
namespace {

using graph::CollectiveKind;

/// Shards of 1/n of the payload that a device sends to its domain's switch and receives from it.
struct Shards {
  std::int32_t sent = 0;
  std::int32_t received = 0;
  std::int32_t hops = 1;
};

/// None for kinds that are left to the ring.
Shards shards_of(CollectiveKind kind, std::int32_t members, bool between) {
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return {members + 1, members + 1, 2};
    case CollectiveKind::kReduceScatter:
      return between ? Shards{} : Shards{members, 1};
    case CollectiveKind::kAllGather:
      return between ? Shards{} : Shards{1, members};
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kAllToAll:
      break;
  }
  return {};
}

/// Whether the members of every island share one switch.
bool have_switch(const MemberOrder& order, const std::vector<int>& devices, const fabric::Fabric& fabric) {
  const auto device_at = [&](std::int32_t position) -> const fabric::Device& {
    const std::int32_t member = order.members[static_cast<std::size_t>(position)];
    return fabric.devices[static_cast<std::size_t>(devices[static_cast<std::size_t>(member)])];
  };
  for (std::int32_t island = 0; island < order.islands(); ++island) {
    const std::int32_t begin = order.island_start[static_cast<std::size_t>(island)];
    for (std::int32_t i = begin; i < order.island_start[static_cast<std::size_t>(island) + 1]; ++i) {
      if (device_at(i).to_domain == fabric::kNoLink || device_at(i).domain != device_at(begin).domain) {
        return false;
      }
    }
  }
  return true;
}

/// The switches' part and the trees' part in one pipeline, in pieces of 1 / (members x trees) of the payload.
FlowPhase merge(const std::map<fabric::LinkId, std::int32_t>& pieces, std::int32_t pieces_of_payload,
                const Hops& hops) {
  std::int32_t factor = 0;
  for (const auto& [link, count] : pieces) {
    factor = std::gcd(factor, count);
  }
  FlowPhase phase;
  for (const auto& [link, count] : pieces) {
    phase.links.push_back({link, count / factor});
  }
  phase.bytes_per_payload = static_cast<double>(factor) / pieces_of_payload;
  phase.hops = hops;
  return phase;
}

class Nvls : public Collective {
 public:
  [[nodiscard]] std::vector<Candidate> candidates(CollectiveKind kind, const std::vector<int>& devices,
                                                  const fabric::Fabric& fabric) const override {
    const MemberOrder order = order_members(devices, fabric);
    const std::int32_t members = order.members_per_island();
    const bool between = order.islands() > 1;
    const Shards shards = shards_of(kind, members, between);
    if (shards.sent == 0 || members < 2 || !have_switch(order, devices, fabric)) {
      return ring_->candidates(kind, devices, fabric);
    }
    std::vector<MemberTree> trees;
    Hops hops{shards.hops * fabric.device_link_latency, static_cast<double>(shards.hops), 0};
    std::map<fabric::LinkId, std::int32_t> pieces;
    if (between) {
      trees = make_trees(order, devices, fabric, false);
      FlowBuilder builder(fabric, devices);
      const FlowPhase tree = flow_over(trees, builder);
      hops += tree.hops;
      const auto per_crossing =
          static_cast<std::int32_t>(std::lround(tree.bytes_per_payload * static_cast<double>(trees.size())));
      for (const LinkUse& use : tree.links) {
        pieces[use.link] += use.count * per_crossing * members;
      }
    }
    const std::int32_t pieces_of_shard = between ? static_cast<std::int32_t>(trees.size()) : 1;
    for (const int device : devices) {
      const fabric::Device& one = fabric.devices[static_cast<std::size_t>(device)];
      pieces[one.to_domain] += shards.sent * pieces_of_shard;
      pieces[one.from_domain] += shards.received * pieces_of_shard;
    }
    return {{kNvls, {merge(pieces, members * pieces_of_shard, hops)}}};
  }

  [[nodiscard]] std::vector<MessageStep> messages(CollectiveKind kind, const std::vector<int>& devices,
                                                  const fabric::Fabric& fabric) const override {
    const std::vector<Candidate> fluid = candidates(kind, devices, fabric);
    return fluid.front().algorithm == kNvls ? std::vector<MessageStep>{} : ring_->messages(kind, devices, fabric);
  }

 private:
  std::unique_ptr<const Collective> ring_ = make_ring();
};

}  // namespace

std::unique_ptr<const Collective> make_nvls() {
  return std::make_unique<Nvls>();
}

}  // namespace lamina::collectives
