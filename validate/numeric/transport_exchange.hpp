#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include <tl/expected.hpp>

#include "sim/deployment/deployment.hpp"
#include "sim/error/error.hpp"
#include "sim/graph/operation_graph.hpp"
#include "validate/cpu/plan.hpp"
#include "validate/cpu/transport.hpp"
#include "validate/numeric/exchange.hpp"
#include "validate/numeric/facts.hpp"
#include "validate/numeric/world.hpp"

namespace lamina::validate::numeric {

/// Pipes of a step's numbers.
struct NumberPlan {
  cpu::Plan plan;
  /// [tensor group] first edge of a ring for what the graph does not have: the vocabulary's, then one per unit of the
  /// rank (several may be summed at once). Only where they are used.
  std::map<std::int32_t, std::size_t> beside;
};

/// `deployment` is whole and in message form.
/// @return Infeasible as cpu::plan_pipes
[[nodiscard]] tl::expected<NumberPlan, error::Infeasible> plan_numbers(const World& world,
                                                                       const graph::OperationGraph& graph,
                                                                       const deployment::Deployment& deployment,
                                                                       const std::vector<ProgramFacts>& facts);

/// One rank among processes: real messages, and collectives as rings of them. Every call waits until this rank's part
/// is done.
class TransportExchange final : public Exchange {
 public:
  /// All must outlive it.
  TransportExchange(const World& world, const deployment::Deployment& deployment, const NumberPlan& plan,
                    std::int32_t rank, cpu::Transport& transport);

  void send(std::int32_t channel, Message message) override;
  void receive(std::int32_t channel, std::function<void(Message)> deliver) override;
  void collective(const Meeting& meeting, std::vector<float> values,
                  std::function<void(std::vector<float>)> deliver) override;
  [[nodiscard]] std::vector<Exponentials> whole_vocabulary(std::int32_t rank, const graph::Operation& operation,
                                                           std::vector<Exponentials> own) override;
  [[nodiscard]] std::vector<float> sum_replicated(std::int32_t rank, int unit, std::vector<float> own) override;

 private:
  /// Header and numbers: as many for every message, since the receiver must know.
  [[nodiscard]] std::size_t message_bytes() const;
  /// This rank's place in the `ring`-th ring beside the graph.
  [[nodiscard]] cpu::RingMember beside(std::size_t ring) const;
  void run(graph::CollectiveKind kind, const cpu::RingMember& member, std::vector<float>& values);

  const World& world_;
  const deployment::Deployment& deployment_;
  const NumberPlan& plan_;
  std::int32_t rank_;
  cpu::Transport& transport_;
};

}  // namespace lamina::validate::numeric
