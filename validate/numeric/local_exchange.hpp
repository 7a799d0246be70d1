#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "sim/deployment/deployment.hpp"
#include "validate/numeric/exchange.hpp"
#include "validate/numeric/rank_step.hpp"

namespace lamina::validate::numeric {

/// All ranks in one process, one operation after the other: what an operation exchanges happens when the last of those
/// that take part is launched.
class LocalExchange final : public Exchange {
 public:
  explicit LocalExchange(const deployment::Deployment& deployment) : deployment_(deployment) {}

  /// [rank]
  void meet(std::vector<RankStep*> ranks) { ranks_ = std::move(ranks); }

  void send(std::int32_t channel, Message message) override;
  void receive(std::int32_t channel, std::function<void(Message)> deliver) override;
  void collective(const Meeting& meeting, std::vector<float> values,
                  std::function<void(std::vector<float>)> deliver) override;
  [[nodiscard]] std::vector<Exponentials> whole_vocabulary(std::int32_t rank, const graph::Operation& operation,
                                                           std::vector<Exponentials> own) override;
  [[nodiscard]] std::vector<float> sum_replicated(std::int32_t rank, int unit, std::vector<float> own) override;

  /// @throws InternalError when somebody still waits for others
  void expect_nobody_waits() const;

 private:
  struct Arrival {
    Meeting meeting;
    std::vector<float> values;
    std::function<void(std::vector<float>)> deliver;
  };

  [[nodiscard]] const std::vector<std::int32_t>& tensor_group(std::int32_t rank) const;

  const deployment::Deployment& deployment_;
  std::vector<RankStep*> ranks_;
  std::map<std::int32_t, Message> sent_;                             ///< [channel]
  std::map<std::int32_t, std::function<void(Message)>> receivers_;   ///< [channel]
  std::map<std::int32_t, std::vector<Arrival>> arrived_;             ///< [group]
  std::map<std::pair<std::int32_t, int>, std::vector<float>> sums_;  ///< (first member, unit)
};

}  // namespace lamina::validate::numeric
