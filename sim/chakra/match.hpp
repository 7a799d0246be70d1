#pragma once

#include <cstdint>
#include <vector>

#include "sim/chakra/trace.hpp"

namespace lamina::chakra {

/// Who takes part in what. Nodes of all ranks are numbered rank by rank, in the order of RankTrace::nodes.
struct Matching {
  std::vector<std::uint32_t> first;  ///< [rank] number of its first node, and the total at the end
  /// [node] another node that starts with it: from one participant to the next and back to the first (a message has
  /// two, a collective one per member); itself where a node is alone.
  std::vector<std::uint32_t> next;

  [[nodiscard]] std::uint32_t number(std::size_t rank, std::size_t node) const {
    return first[rank] + static_cast<std::uint32_t>(node);
  }

  [[nodiscard]] std::size_t rank_of(std::uint32_t number) const;
};

/// The k-th send of a rank to another with some tag meets the k-th receive there of that tag; members of a group meet
/// in their k-th collective of the group.
/// @throws ScenarioError naming ranks, nodes and files: a message without its other end, ends of different sizes, a
/// member that skips a collective or runs another one
[[nodiscard]] Matching match(const Trace& trace);

/// @throws ScenarioError naming the nodes of a circle, when the ranks wait for each other for ever: compute of a rank
/// runs one at a time in the order of RankTrace::nodes, everything else as soon as its dependencies are done
void check_progress(const Trace& trace, const Matching& matching);

}  // namespace lamina::chakra
