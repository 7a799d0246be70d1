#pragma once

#include <cstdint>
#include <vector>

#include "sim/collectives/flow_builder.hpp"
#include "sim/collectives/member_order.hpp"

namespace lamina::collectives {

/// An edge of a tree of members.
struct TreeEdge {
  std::int32_t child = 0;  ///< member, as its parent
  std::int32_t parent = 0;
  std::int32_t depth = 0;  ///< of the child; the root's is 0
};

struct MemberTree {
  std::vector<TreeEdge> edges;  ///< parents before their children
  std::int32_t depth = 0;       ///< largest of the edges'
};

/// Two trees per port that every island has (make_tree says which): first all of the one kind, then all of the other.
/// @param with_chains false: of the members at the ports alone
[[nodiscard]] std::vector<MemberTree> make_trees(const MemberOrder& order, const std::vector<int>& devices,
                                                 const fabric::Fabric& fabric, bool with_chains);

/// The flow of an all-reduce over all trees, up and down: each carries its share of the payload over every edge.
[[nodiscard]] FlowPhase flow_over(const std::vector<MemberTree>& trees, FlowBuilder& builder);

}  // namespace lamina::collectives
