#include "sim/collectives/island_trees.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <utility>

namespace lamina::collectives {
namespace {

constexpr std::int32_t kNone = -1;

std::size_t at(std::int32_t index) {
  return static_cast<std::size_t>(index);
}

/// Parent of node `i` of `count` in the in-order binary tree with root 0: odd nodes are its leaves.
std::int32_t in_order_parent(std::int32_t i, std::int32_t count) {
  if (i == 0) {
    return kNone;
  }
  const std::int32_t lowest_bit = i & -i;
  const std::int32_t above = (i ^ lowest_bit) | (2 * lowest_bit);
  return above < count ? above : i ^ lowest_bit;
}

/// [island] parent in the second tree, or in the first; kNone for the root.
std::vector<std::int32_t> parents(std::int32_t count, bool second) {
  std::vector<std::int32_t> result(at(count), kNone);
  const auto renumber = [&](std::int32_t i) {
    if (!second) {
      return i;
    }
    return count % 2 == 0 ? count - 1 - i : (i + 1) % count;
  };
  for (std::int32_t i = 0; i < count; ++i) {
    const std::int32_t parent = in_order_parent(i, count);
    result[at(renumber(i))] = parent == kNone ? kNone : renumber(parent);
  }
  return result;
}

class TreeBuilder {
 public:
  TreeBuilder(const MemberOrder& order, std::span<const std::int32_t> heads, bool with_chains)
      : order_(order), heads_(heads), with_chains_(with_chains) {}

  MemberTree build(const std::vector<std::int32_t>& parents) {
    children_.assign(parents.size(), {});
    std::int32_t root = kNone;
    for (std::size_t island = 0; island < parents.size(); ++island) {
      if (parents[island] == kNone) {
        root = static_cast<std::int32_t>(island);
      } else {
        children_[at(parents[island])].push_back(static_cast<std::int32_t>(island));
      }
    }
    add_island(root, 0);
    return std::move(tree_);
  }

 private:
  [[nodiscard]] std::int32_t head(std::int32_t island) const { return order_.members[at(heads_[at(island)])]; }

  void add_edge(std::int32_t child, std::int32_t parent, std::int32_t depth) {
    tree_.edges.push_back({child, parent, depth});
    tree_.depth = std::max(tree_.depth, depth);
  }

  void add_island(std::int32_t island, std::int32_t depth) {
    if (with_chains_) {
      add_chain(island, depth);
    }
    for (const std::int32_t child : children_[at(island)]) {
      add_edge(head(child), head(island), depth + 1);
      add_island(child, depth + 1);
    }
  }

  void add_chain(std::int32_t island, std::int32_t depth) {
    const std::int32_t begin = order_.island_start[at(island)];
    const std::int32_t size = order_.island_start[at(island) + 1] - begin;
    std::int32_t above = head(island);
    for (std::int32_t step = 1; step < size; ++step) {
      const std::int32_t next = order_.members[at(begin + (heads_[at(island)] - begin + step) % size)];
      add_edge(next, above, depth + step);
      above = next;
    }
  }

  const MemberOrder& order_;
  std::span<const std::int32_t> heads_;
  bool with_chains_;
  std::vector<std::vector<std::int32_t>> children_;
  MemberTree tree_;
};

/// Of the member from which the longest latency leads up to the root.
Hops longest_way_up(const MemberTree& tree, const std::vector<Hops>& hop_of_edge) {
  std::map<std::int32_t, Hops> from_root;
  Hops longest;
  for (std::size_t e = 0; e < tree.edges.size(); ++e) {
    Hops& hops = from_root[tree.edges[e].child];
    hops = from_root[tree.edges[e].parent];
    hops += hop_of_edge[e];
    if (hops.wire > longest.wire || (hops.wire == longest.wire && hops.between > longest.between)) {
      longest = hops;
    }
  }
  return longest;
}

}  // namespace

std::vector<MemberTree> make_trees(const MemberOrder& order, const std::vector<int>& devices,
                                   const fabric::Fabric& fabric, bool with_chains) {
  const PortHeads heads = find_port_heads(order, devices, fabric);
  std::vector<MemberTree> trees;
  for (const bool second : {false, true}) {
    const std::vector<std::int32_t> above = parents(order.islands(), second);
    for (std::int32_t port = 0; port < heads.ports; ++port) {
      trees.push_back(TreeBuilder(order, heads.of_port(port), with_chains).build(above));
    }
  }
  return trees;
}

FlowPhase flow_over(const std::vector<MemberTree>& trees, FlowBuilder& builder) {
  Hops longest;
  std::vector<Hops> hops;
  for (const MemberTree& tree : trees) {
    hops.clear();
    for (const TreeEdge& edge : tree.edges) {
      hops.push_back(builder.add_hop(edge.child, edge.parent));
      builder.add_hop(edge.parent, edge.child);
    }
    const Hops up = longest_way_up(tree, hops);
    if (up.wire > longest.wire || (up.wire == longest.wire && up.between > longest.between)) {
      longest = up;
    }
  }
  return builder.take(1.0 / static_cast<double>(trees.size()), 2.0 * longest);
}

}  // namespace lamina::collectives
