#include <algorithm>
#include <utility>
#include <vector>

#include "sim/collectives/algorithms.hpp"

namespace lamina::collectives {
namespace {

using graph::CollectiveKind;

bool is_named(std::string_view algorithm, const std::vector<scenario::CollectiveProtocol>& protocols) {
  return std::any_of(protocols.begin(), protocols.end(),
                     [&](const scenario::CollectiveProtocol& protocol) { return protocol.algorithm == algorithm; });
}

class Automatic : public Collective {
 public:
  [[nodiscard]] std::vector<Candidate> candidates(CollectiveKind kind, const std::vector<int>& devices,
                                                  const fabric::Fabric& fabric) const override {
    std::vector<Candidate> all = ring_->candidates(kind, devices, fabric);
    const auto add = [&](const Collective& collective) {
      for (Candidate& candidate : collective.candidates(kind, devices, fabric)) {
        const auto same = [&](const Candidate& other) { return other.algorithm == candidate.algorithm; };
        if (std::none_of(all.begin(), all.end(), same)) {
          all.push_back(std::move(candidate));
        }
      }
    };
    const bool between = all.front().phases.front().hops.between > 0;
    const auto& protocols = between ? fabric.network_protocols : fabric.device_link_protocols;
    if (is_named(kNvls, protocols)) {
      add(*nvls_);
    }
    if (kind == CollectiveKind::kAllReduce) {
      add(*tree_);
      if (is_named(kSharp, protocols)) {
        add(*sharp_);
      }
    }
    return all;
  }

  [[nodiscard]] std::vector<MessageStep> messages(CollectiveKind kind, const std::vector<int>& devices,
                                                  const fabric::Fabric& fabric) const override {
    return ring_->messages(kind, devices, fabric);
  }

 private:
  std::unique_ptr<const Collective> ring_ = make_ring();
  std::unique_ptr<const Collective> tree_ = make_tree();
  std::unique_ptr<const Collective> nvls_ = make_nvls();
  std::unique_ptr<const Collective> sharp_ = make_sharp();
};

}  // namespace

std::unique_ptr<const Collective> make_automatic() {
  return std::make_unique<Automatic>();
}

}  // namespace lamina::collectives
