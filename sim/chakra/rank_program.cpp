#include "sim/chakra/rank_program.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "sim/chakra/fault.hpp"

namespace lamina::chakra {
namespace {

enum Place : std::uint16_t { kDevice, kHost, kOrder, kCollectives, kCopies, kSends, kReceives };

std::vector<graph::Stream> streams() {
  using graph::StreamKind;
  return {{StreamKind::kCompute, "compute", true},          {StreamKind::kHostOut, "host compute", true},
          {StreamKind::kTensor, "without duration", false}, {StreamKind::kData, "collectives", false},
          {StreamKind::kHostIn, "host copies", false},      {StreamKind::kPipelineSend, "sends", false},
          {StreamKind::kPipelineReceive, "receives", false}};
}

Place place_of(NodeKind kind) {
  switch (kind) {
    case NodeKind::kNothing:
      return kOrder;
    case NodeKind::kCompute:
      return kDevice;
    case NodeKind::kHostCompute:
      return kHost;
    case NodeKind::kSend:
      return kSends;
    case NodeKind::kReceive:
      return kReceives;
    case NodeKind::kCollective:
      return kCollectives;
    case NodeKind::kLoad:
    case NodeKind::kStore:
      return kCopies;
  }
  return kOrder;
}

class Builder {
 public:
  Builder(const Trace& trace, const Matching& matching, std::size_t rank, const std::vector<std::int32_t>& slots)
      : trace_(trace), matching_(matching), rank_(rank), owner_(trace.ranks[rank]), slots_(slots) {}

  RankProgram build() {
    number_channels();
    order();
    result_.program.streams = streams();
    result_.program.operations.reserve(result_.nodes.size());
    for (const std::uint32_t node : result_.nodes) {
      result_.program.operations.push_back(operation(node));
    }
    depend();
    return std::move(result_);
  }

 private:
  /// In order of first use, so that ranks that do the same number them alike.
  void number_channels() {
    std::map<std::pair<std::int32_t, bool>, std::uint16_t> known;
    channel_.assign(owner_.nodes.size(), 0);
    for (std::size_t i = 0; i < owner_.nodes.size(); ++i) {
      const Node& node = owner_.nodes[i];
      if (node.kind != NodeKind::kSend && node.kind != NodeKind::kReceive) {
        continue;
      }
      const bool sends = node.kind == NodeKind::kSend;
      const auto number = static_cast<std::uint16_t>(result_.channels.size());
      const auto [entry, is_new] = known.try_emplace({node.peer, sends}, number);
      channel_[i] = entry->second;
      if (!is_new) {
        continue;
      }
      if (result_.channels.size() == std::numeric_limits<std::uint16_t>::max()) {
        refuse_file(owner_.file, fmt::format("Rank {} exchanges messages with too many ranks.", rank_), "",
                    fmt::format("at most {} directions", std::numeric_limits<std::uint16_t>::max()));
      }
      result_.channels.push_back({node.peer, sends});
      graph::Channel channel;
      channel.sends = sends;
      result_.program.channels.push_back(channel);
    }
  }

  void order() {
    using Key = std::tuple<std::uint16_t, std::uint16_t, std::uint32_t, std::uint32_t>;
    std::vector<Key> keys;
    keys.reserve(owner_.nodes.size());
    for (std::uint32_t i = 0; i < owner_.nodes.size(); ++i) {
      const Place place = place_of(owner_.nodes[i].kind);
      const bool is_message = place == kSends || place == kReceives;
      // The number of the send grows along a sender's nodes.
      const std::uint32_t position = place == kReceives ? matching_.next[matching_.number(rank_, i)] : i;
      keys.emplace_back(place, is_message ? channel_[i] : std::uint16_t{0}, position, i);
    }
    std::sort(keys.begin(), keys.end());
    result_.nodes.reserve(keys.size());
    for (const Key& key : keys) {
      result_.nodes.push_back(std::get<3>(key));
    }
  }

  [[nodiscard]] graph::Operation operation(std::uint32_t number) const {
    using graph::OperationKind;
    const Node& node = owner_.nodes[number];
    graph::Operation result;
    const Place place = place_of(node.kind);
    result.stream = place;
    result.layer = -2;
    result.duration_s = node.duration_s;
    result.bytes = node.bytes;
    switch (place) {
      case kDevice:
      case kHost:
        break;
      case kOrder:  // a collective of a group that no rank has takes no time, and is no compute to disturbances
        result.kind = OperationKind::kCollective;
        break;
      case kCollectives:
        result.kind = OperationKind::kCollective;
        result.collective = node.collective;
        result.group = static_cast<graph::GroupKind>(slots_[static_cast<std::size_t>(node.group)]);
        break;
      case kCopies:
        result.kind = OperationKind::kHostCopy;
        result.to_host = node.kind == NodeKind::kStore;
        break;
      case kSends:
      case kReceives:
        result.kind = place == kSends ? OperationKind::kSend : OperationKind::kReceive;
        result.channel = channel_[number];
        break;
    }
    return result;
  }

  void depend() {
    std::vector<std::uint32_t> operation_of(owner_.nodes.size());
    for (std::uint32_t i = 0; i < result_.nodes.size(); ++i) {
      operation_of[result_.nodes[i]] = i;
    }
    auto& dependencies = result_.program.dependencies;
    dependencies.reserve(owner_.dependencies.size());
    for (std::size_t i = 0; i < owner_.nodes.size(); ++i) {
      for (std::uint32_t k = 0; k < owner_.nodes[i].dependencies; ++k) {
        dependencies.emplace_back(operation_of[owner_.dependencies[owner_.nodes[i].first_dependency + k]],
                                  operation_of[i]);
      }
    }
    std::sort(dependencies.begin(), dependencies.end());
    dependencies.erase(std::unique(dependencies.begin(), dependencies.end()), dependencies.end());
  }

  const Trace& trace_;
  const Matching& matching_;
  std::size_t rank_;
  const RankTrace& owner_;
  const std::vector<std::int32_t>& slots_;
  std::vector<std::uint16_t> channel_;  ///< [node]
  RankProgram result_;
};

/// splitmix64's finaliser.
std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31U);
}

auto fields(const graph::Operation& operation) {
  return std::tuple(operation.kind, operation.collective, operation.group, operation.to_host, operation.stream,
                    operation.channel, operation.duration_s, operation.bytes);
}

}  // namespace

RankProgram program_of(const Trace& trace, const Matching& matching, std::size_t rank,
                       const std::vector<std::int32_t>& slot_of_group) {
  return Builder(trace, matching, rank, slot_of_group).build();
}

bool same_work(const graph::Program& a, const graph::Program& b) {
  return a.dependencies == b.dependencies &&
         std::equal(a.operations.begin(), a.operations.end(), b.operations.begin(), b.operations.end(),
                    [](const auto& x, const auto& y) { return fields(x) == fields(y); }) &&
         std::equal(a.channels.begin(), a.channels.end(), b.channels.begin(), b.channels.end(),
                    [](const auto& x, const auto& y) { return x.sends == y.sends; });
}

std::uint64_t hash_of(const graph::Program& program) {
  std::uint64_t hash = mix(program.operations.size());
  for (const graph::Operation& operation : program.operations) {
    const auto kind = static_cast<std::uint64_t>(operation.kind) | std::uint64_t{operation.channel} << 8U |
                      static_cast<std::uint64_t>(operation.group) << 32U | std::uint64_t{operation.stream} << 40U;
    hash = mix(hash ^ kind);
    hash = mix(hash ^ std::bit_cast<std::uint64_t>(operation.duration_s + operation.bytes));
  }
  for (const auto& [before, after] : program.dependencies) {
    hash = mix(hash ^ (std::uint64_t{before} << 32U | after));
  }
  return hash;
}

}  // namespace lamina::chakra
