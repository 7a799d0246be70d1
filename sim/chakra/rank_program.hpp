#pragma once

#include <cstdint>
#include <vector>

#include "sim/chakra/match.hpp"
#include "sim/graph/operation_graph.hpp"

namespace lamina::chakra {

/// One rank's part of a pair of ranks.
struct RankChannel {
  std::int32_t peer = 0;
  bool sends = false;
};

/// What one rank executes; the other ends of its channels are not filled in.
struct RankProgram {
  graph::Program program;
  std::vector<RankChannel> channels;
  std::vector<std::uint32_t> nodes;  ///< [operation]
};

/// Operations stand stream by stream: compute in the order of the trace; collectives; copies; the sends of a channel in
/// the order of the trace and its receives in the order in which they are sent, since the k-th of one pairs with the
/// k-th of the other.
/// @throws ScenarioError for more channels than can be numbered
[[nodiscard]] RankProgram program_of(const Trace& trace, const Matching& matching, std::size_t rank,
                                     const std::vector<std::int32_t>& slot_of_group);

/// Equal but for the other ends of the channels.
[[nodiscard]] bool same_work(const graph::Program& a, const graph::Program& b);

/// Equal for programs of the same work.
[[nodiscard]] std::uint64_t hash_of(const graph::Program& program);

}  // namespace lamina::chakra
