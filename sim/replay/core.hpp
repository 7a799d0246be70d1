#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "sim/deployment/deployment.hpp"
#include "sim/graph/launch_queue.hpp"
#include "sim/graph/operation_graph.hpp"
#include "sim/replay/compute_streams.hpp"
#include "sim/replay/message_form.hpp"
#include "sim/replay/plan.hpp"
#include "sim/replay/replay.hpp"
#include "sim/replay/transport.hpp"
#include "sim/timeline/timeline.hpp"

namespace lamina::replay {

/// The event-driven replay itself: in-order streams, dependencies, rendezvous of messages and collectives. Time passes
/// only in the transport.
class Core final : private TransportListener {
 public:
  /// Everything must outlive the core; `plan` is make_plan of the same graph and deployment.
  Core(const graph::OperationGraph& graph, const deployment::Deployment& deployment, const Plan& plan,
       const Options& options, Transport& transport);

  /// Once.
  /// @throws InternalError naming the first operation of each rank that could not run
  [[nodiscard]] timeline::Timeline run();

 private:
  /// One operation of one deployment rank.
  struct Instance {
    std::uint32_t rank = 0;
    std::uint32_t operation = 0;
  };

  enum class TransferKind : std::uint8_t { kMessage, kHostCopy, kCollective, kGroupMessage };

  /// One leg over a path: latency, then a flow.
  struct Transfer {
    TransferKind kind = TransferKind::kMessage;
    Instance instance = {};     ///< kMessage: the send; kHostCopy
    std::uint32_t run = 0;      ///< kCollective, kGroupMessage: into runs_
    std::uint32_t message = 0;  ///< kGroupMessage
    std::int32_t path = -1;
    double bytes = 0;
    double factor = 1;      ///< of jitter, on latency and bytes
    double pace = 1;        ///< as deployment::FlowStep::pace
    double start = 0;       ///< of the span
    double flow_start = 0;  ///< after latency
  };

  /// A collective under way in one group.
  struct CollectiveRun {
    std::int32_t group = -1;
    std::size_t kind = 0;
    std::uint32_t number = 0;  ///< k-th collective of the group
    std::size_t step = 0;      ///< flow form: next step
    double bytes = 0;
    double factor = 1;  ///< of jitter
    double start = 0;
    std::vector<Instance> arrived;
    MessageForm::Progress progress;
  };

  void timer_ended(Token token) override;
  void flow_ended(Token token) override;

  void queue_ready(Instance instance);
  void drain();
  void start(Instance instance);
  void call_compute(Instance instance);
  void start_compute(Instance instance);
  void start_message(Instance instance);
  void start_host_copy(Instance instance);
  void call_collective(Instance instance);
  void arrive(Instance instance);
  void start_collective(std::uint32_t run);
  void next_step(std::uint32_t run);
  void send_messages(std::uint32_t run);
  void finish_collective(std::uint32_t run);
  void complete(Instance instance, double start);

  [[nodiscard]] std::uint32_t new_transfer(const Transfer& transfer);
  void begin_transfer(const Transfer& transfer);
  void begin_flow(std::uint32_t slot);
  void finish_leg(std::uint32_t slot);
  [[nodiscard]] std::uint32_t new_run();
  [[nodiscard]] std::uint32_t find_run(std::int32_t group, const graph::Operation& operation, std::uint32_t number);
  [[nodiscard]] const MessageForm& message_form(std::int32_t group, std::size_t kind);

  [[nodiscard]] const graph::Operation& operation(Instance instance) const;
  [[nodiscard]] std::uint32_t vertex(Instance instance) const;
  [[nodiscard]] double jitter(Instance instance) const;
  [[nodiscard]] double nominal_duration(Instance instance) const;
  [[nodiscard]] std::uint32_t& state(Instance instance);
  [[nodiscard]] Instance partner(Instance instance) const;
  [[nodiscard]] const deployment::Channel& channel(Instance instance) const;
  void number_compute();
  void check_all_done() const;

  const graph::OperationGraph& graph_;
  const deployment::Deployment& deployment_;
  const Plan& plan_;
  const Options& options_;
  Transport& transport_;

  timeline::Timeline timeline_;
  std::vector<std::size_t> first_state_;  ///< [rank] into states_
  std::vector<std::uint32_t> states_;     ///< predecessors left, or one of the k... states of core.cpp
  std::size_t done_ = 0;
  std::int64_t flows_ = 0;
  std::vector<Token> queue_;  ///< operations that can start and legs that have ended, in order
  std::size_t queue_head_ = 0;
  std::vector<Transfer> transfers_;
  std::vector<std::uint32_t> free_transfers_;
  std::vector<CollectiveRun> runs_;
  std::vector<std::uint32_t> free_runs_;
  std::vector<std::vector<std::uint32_t>> open_runs_;  ///< [group] runs that wait for members
  std::map<std::pair<std::int32_t, std::size_t>, MessageForm> message_forms_;
  std::vector<std::uint32_t> starting_;
  std::vector<std::uint32_t> compute_number_;  ///< [vertex] k: the k-th compute operation; empty without host delays
  ComputeStreams compute_;
  std::vector<graph::LaunchQueue> hosts_;  ///< [rank]
};

}  // namespace lamina::replay
