#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "sim/deployment/deployment.hpp"
#include "sim/graph/operation_graph.hpp"
#include "validate/numeric/exchange.hpp"
#include "validate/numeric/facts.hpp"
#include "validate/numeric/gather_step.hpp"
#include "validate/numeric/worker.hpp"

namespace lamina::validate::numeric {

/// One rank's part of one step. Streams may run operations at once: what they compute is done under a lock, what they
/// exchange is not.
class RankStep {
 public:
  /// All must outlive it.
  RankStep(const World& world, const graph::OperationGraph& graph, const deployment::Deployment& deployment,
           const ProgramFacts& facts, std::int32_t rank, Exchange& exchange);

  /// Does an operation's work.
  /// @throws InternalError with what is missing
  void run(std::uint32_t operation);

  /// The end of the step, where the host updates.
  /// @throws InternalError when something was made and never used
  [[nodiscard]] RankResult finish();

  [[nodiscard]] std::vector<Exponentials> vocabulary_part(const graph::Operation& operation);
  [[nodiscard]] std::vector<float> replicated(int unit);

 private:
  void compute(const graph::Operation& operation);
  void copy(std::uint32_t operation);
  void send(const graph::Operation& operation);
  void receive(const graph::Operation& operation);
  void accept_message(const graph::Operation& operation, Message message);
  void collective(std::uint32_t operation);
  void accept_collective(std::uint32_t operation, std::vector<float> outcome);
  void drop_weights(std::uint32_t operation);
  void sum_replicas(int unit);
  void start_norm();
  [[nodiscard]] float rate();
  [[nodiscard]] bool gathers_gradients(std::uint32_t operation) const;
  [[nodiscard]] bool updates_on_host() const;

  const World& world_;
  const graph::Program& program_;
  const deployment::Deployment& deployment_;
  const ProgramFacts& facts_;
  std::int32_t rank_;
  const deployment::Rank& here_;
  Exchange& exchange_;
  std::mutex mutex_;  ///< of all below; never held during an exchange
  std::condition_variable summed_;
  Worker worker_;
  std::map<int, bool> sums_;    ///< [unit] whether its replicated gradients are summed, or are being
  std::optional<double> norm_;  ///< sum of squares, as far as it has come
  int norms_done_ = 0;
};

/// "rank 1: forward, stage 1, ... (data 0, tensor 0)".
[[nodiscard]] std::string name_of(const graph::OperationGraph& graph, const deployment::Deployment& deployment,
                                  std::int32_t rank, std::uint32_t operation);

/// Facts of all programs of a graph.
[[nodiscard]] std::vector<ProgramFacts> facts_of(const graph::OperationGraph& graph,
                                                 const scenario::Strategy& strategy);

}  // namespace lamina::validate::numeric
