#include <algorithm>
#include <memory>
#include <vector>

#include "sim/collectives/algorithms.hpp"
#include "sim/collectives/flow_builder.hpp"
#include "sim/collectives/island_trees.hpp"
#include "sim/collectives/member_order.hpp"

namespace lamina::collectives {
namespace {

using graph::CollectiveKind;

/// Filling the pipeline takes 2 x depth - 1 segments, hence less than 1 % of the transfer.
std::int32_t segments_of(std::int32_t depth) {
  return 128 * (2 * depth - 1);
}

class Tree : public Collective {
 public:
  [[nodiscard]] std::vector<Candidate> candidates(CollectiveKind kind, const std::vector<int>& devices,
                                                  const fabric::Fabric& fabric) const override {
    const MemberOrder order = order_members(devices, fabric);
    if (!applies(kind, order)) {
      return ring_->candidates(kind, devices, fabric);
    }
    FlowBuilder builder(fabric, devices);
    return {{kTree, {flow_over(make_trees(order, devices, fabric, true), builder)}}};
  }

  [[nodiscard]] std::vector<MessageStep> messages(CollectiveKind kind, const std::vector<int>& devices,
                                                  const fabric::Fabric& fabric) const override {
    const MemberOrder order = order_members(devices, fabric);
    if (!applies(kind, order)) {
      return ring_->messages(kind, devices, fabric);
    }
    const std::vector<MemberTree> trees = make_trees(order, devices, fabric, true);
    std::int32_t depth = 0;
    for (const MemberTree& tree : trees) {
      depth = std::max(depth, tree.depth);
    }
    const std::int32_t segments = segments_of(depth);
    const double fraction = 1.0 / segments / static_cast<double>(trees.size());
    std::vector<MessageStep> result;
    for (const MemberTree& tree : trees) {
      for (const TreeEdge& edge : tree.edges) {
        for (std::int32_t segment = 0; segment < segments; ++segment) {  // a level takes a step, up and then down
          result.push_back({edge.child, edge.parent, fraction, segment + depth - edge.depth});
          result.push_back({edge.parent, edge.child, fraction, segment + depth + edge.depth - 1});
        }
      }
    }
    return result;
  }

 private:
  static bool applies(CollectiveKind kind, const MemberOrder& order) {
    return kind == CollectiveKind::kAllReduce && order.islands() > 1;
  }

  std::unique_ptr<const Collective> ring_ = make_ring();
};

}  // namespace

std::unique_ptr<const Collective> make_tree() {
  return std::make_unique<Tree>();
}

}  // namespace lamina::collectives
