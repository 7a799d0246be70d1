#include <algorithm>
#include <vector>

#include "sim/collectives/algorithms.hpp"
#include "sim/collectives/flow_builder.hpp"
#include "sim/collectives/member_order.hpp"

namespace lamina::collectives {
namespace {

using graph::CollectiveKind;

std::size_t at(std::int32_t index) {
  return static_cast<std::size_t>(index);
}

/// Steps of 1/n of the buffer; 0 for kinds that are not made of them.
std::int32_t ring_steps(CollectiveKind kind, std::int32_t size) {
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return 2 * (size - 1);
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kAllGather:
      return size - 1;
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kAllToAll:
      return 0;
  }
  return 0;
}

/// The channel from member 0, in ring order.
std::vector<std::int32_t> chain_from_root(const Channels& channels, std::int32_t channel) {
  const auto ring = channels.ring(channel);
  std::vector<std::int32_t> chain(ring.begin(), ring.end());
  std::rotate(chain.begin(), std::find(chain.begin(), chain.end(), 0), chain.end());
  return chain;
}

/// Filling the pipeline takes n - 2 segments, hence less than 1 % of the transfer.
std::int32_t broadcast_segments(std::int32_t size) {
  return std::max(1, 128 * (size - 2));
}

class Ring : public Collective {
 public:
  [[nodiscard]] std::vector<Candidate> candidates(CollectiveKind kind, const std::vector<int>& devices,
                                                  const fabric::Fabric& fabric) const override;
  [[nodiscard]] std::vector<MessageStep> messages(CollectiveKind kind, const std::vector<int>& devices,
                                                  const fabric::Fabric& fabric) const override;
};

FlowPhase all_to_all_phase(const MemberOrder& order, FlowBuilder& builder) {
  const std::int32_t size = order.size();
  Hops hops;
  for (std::int32_t shift = 1; shift < size; ++shift) {
    Hops slowest;
    for (std::int32_t from = 0; from < size; ++from) {
      const Hops hop = builder.add_hop(order.members[at(from)], order.members[at((from + shift) % size)]);
      if (from == 0 || hop.between > slowest.between || (hop.between == slowest.between && hop.wire > slowest.wire)) {
        slowest = hop;
      }
    }
    hops += slowest;
  }
  return builder.take(1.0 / size, hops);
}

FlowPhase broadcast_phase(const Channels& channels, std::int32_t size, FlowBuilder& builder) {
  for (std::int32_t channel = 0; channel < channels.count; ++channel) {
    const std::vector<std::int32_t> chain = chain_from_root(channels, channel);
    for (std::size_t position = 1; position < chain.size(); ++position) {
      builder.add_hop(chain[position - 1], chain[position]);
    }
  }
  return builder.take(1.0 / channels.count, static_cast<double>(size - 1) * builder.mean_hop());
}

FlowPhase phase_of(CollectiveKind kind, const std::vector<int>& devices, const fabric::Fabric& fabric) {
  const MemberOrder order = order_members(devices, fabric);
  FlowBuilder builder(fabric, devices);
  if (kind == CollectiveKind::kAllToAll) {
    return all_to_all_phase(order, builder);
  }
  const std::int32_t size = order.size();
  const Channels channels = build_channels(order, devices, fabric);
  if (kind == CollectiveKind::kBroadcast) {
    return broadcast_phase(channels, size, builder);
  }
  for (std::int32_t channel = 0; channel < channels.count; ++channel) {
    builder.add_ring(channels.ring(channel));
  }
  const double steps = ring_steps(kind, size);
  return builder.take(steps / size / channels.count, steps * builder.mean_hop());
}

std::vector<Candidate> Ring::candidates(CollectiveKind kind, const std::vector<int>& devices,
                                        const fabric::Fabric& fabric) const {
  return {{kRing, {phase_of(kind, devices, fabric)}}};
}

std::vector<MessageStep> all_to_all_messages(const MemberOrder& order) {
  const std::int32_t size = order.size();
  std::vector<MessageStep> result;
  result.reserve(at(size) * at(size - 1));
  for (std::int32_t shift = 1; shift < size; ++shift) {
    for (std::int32_t from = 0; from < size; ++from) {
      result.push_back({order.members[at(from)], order.members[at((from + shift) % size)], 1.0 / size, shift - 1});
    }
  }
  return result;
}

std::vector<MessageStep> broadcast_messages(const Channels& channels, std::int32_t size) {
  const std::int32_t segments = broadcast_segments(size);
  std::vector<MessageStep> result;
  result.reserve(at(channels.count) * at(segments) * at(size - 1));
  for (std::int32_t channel = 0; channel < channels.count; ++channel) {
    const std::vector<std::int32_t> chain = chain_from_root(channels, channel);
    for (std::int32_t segment = 0; segment < segments; ++segment) {
      for (std::int32_t hop = 0; hop + 1 < size; ++hop) {
        result.push_back({chain[at(hop)], chain[at(hop) + 1], 1.0 / segments / channels.count, segment + hop});
      }
    }
  }
  return result;
}

std::vector<MessageStep> Ring::messages(CollectiveKind kind, const std::vector<int>& devices,
                                        const fabric::Fabric& fabric) const {
  const MemberOrder order = order_members(devices, fabric);
  if (kind == CollectiveKind::kAllToAll) {
    return all_to_all_messages(order);
  }
  const std::int32_t size = order.size();
  const Channels channels = build_channels(order, devices, fabric);
  if (kind == CollectiveKind::kBroadcast) {
    return broadcast_messages(channels, size);
  }
  const std::int32_t steps = ring_steps(kind, size);
  std::vector<MessageStep> result;
  result.reserve(at(steps) * channels.members.size());
  for (std::int32_t step = 0; step < steps; ++step) {
    for (std::int32_t channel = 0; channel < channels.count; ++channel) {
      const auto ring = channels.ring(channel);
      for (std::size_t from = 0; from < ring.size(); ++from) {
        result.push_back({ring[from], ring[from + 1 == ring.size() ? 0 : from + 1], 1.0 / size / channels.count, step});
      }
    }
  }
  return result;
}

}  // namespace

std::unique_ptr<const Collective> make_ring() {
  return std::make_unique<Ring>();
}

}  // namespace lamina::collectives
