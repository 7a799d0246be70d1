#pragma once

#include <map>
#include <utility>
#include <vector>

#include "schedules/schedule.hpp"
#include "sim/graph/operation_graph.hpp"
#include "sim/lowering/coarse.hpp"
#include "sim/lowering/communication_gaps.hpp"
#include "sim/lowering/message_table.hpp"
#include "sim/lowering/messages.hpp"
#include "sim/lowering/program_builder.hpp"
#include "sim/lowering/sharding.hpp"
#include "sim/lowering/task_index.hpp"
#include "sim/lowering/tasks.hpp"
#include "sim/model/work.hpp"
#include "sim/scenario/scenario.hpp"

namespace lamina::lowering {

/// Writes the program of one pipeline rank: walks its tasks in issue order and puts restores, reductions, copies and
/// updates where the plan says. Split over role_lowering.cpp (the walk), role_messages.cpp, compute.cpp,
/// data_parallel.cpp and update.cpp.
class RoleLowering {
 public:
  RoleLowering(const scenario::Scenario& scenario, const model::WorkModel& work, const schedules::ScheduleTable& table,
               const std::vector<MessageEdge>& edges, const PrescribedRows& rows, int rank);

  [[nodiscard]] graph::Program lower();

  /// The coarse form of lower_coarse: a run of tasks that nothing interrupts is one operation, tensor exchanges
  /// included.
  [[nodiscard]] graph::Program lower_coarse(const TensorTimes& tensor_times);

 private:
  // role_lowering.cpp
  void reside();
  void walk(int task);
  void wait_for_inputs(const Task& task);
  void hand_over(const Task& task);
  [[nodiscard]] graph::Operation operation(graph::OperationKind kind, graph::Phase phase, const Task& task) const;
  [[nodiscard]] graph::Operation unit_operation(graph::OperationKind kind, graph::Phase phase, int unit) const;

  // role_messages.cpp
  /// What an action takes from or gives to another rank: the stage that sends or receives it, and its content.
  struct MessageEnd {
    int stage = 0;
    int micro_batch = 0;
    bool gradients = false;
  };

  struct ChannelEnd {
    int peer = 0;
    bool gradients = false;
    bool sends = false;
    bool operator==(const ChannelEnd&) const = default;
  };

  void add_channels();
  [[nodiscard]] std::uint16_t channel(const ChannelEnd& end) const;
  void post_all_receives();
  [[nodiscard]] bool continues_batch(std::size_t action) const;
  void exchange(std::size_t action);
  void post_gap(std::size_t action);
  void issue_send(const MessageEnd& end);
  void issue_receive(const MessageEnd& end);
  [[nodiscard]] std::uint16_t message_stream(graph::StreamKind kind, int peer, bool gradients);
  [[nodiscard]] int peer_of(const MessageEnd& end, bool sends) const;
  [[nodiscard]] double message_bytes() const;

  // compute.cpp
  [[nodiscard]] bool gathers_input(const Task& task) const;
  void compute(int task);
  void compute_blocks(const Task& task);
  void forward_blocks(const Task& task, graph::Phase phase);
  void backward_blocks(const Task& task);
  void set_time(graph::Operation& compute, const units::LaunchTime& time);
  void add_compute(const Task& task, graph::Phase phase, int block, const units::LaunchTime& time, double flops);
  void add_tensor_collective(const Task& task, graph::CollectiveKind kind, int block, double bytes,
                             const model::LaunchIntervals& intervals);

  /// Bytes that a task takes at its start and gives back at its end.
  struct TaskMemory {
    double transient_taken = 0;
    double transient_returned = 0;
    double checkpoint_taken = 0;
    double checkpoint_returned = 0;
  };

  [[nodiscard]] TaskMemory memory_of(const Task& task) const;
  void account_memory(int task);
  void fetch_checkpoint(int task);
  void evict_checkpoint(const Task& task);
  [[nodiscard]] bool recomputes(const Task& task) const;
  [[nodiscard]] double transient_bytes(const Task& task) const;
  [[nodiscard]] bool offloads_checkpoint(const Task& task) const;

  // coarse_walk.cpp
  /// What a task takes and keeps on the compute stream.
  struct TaskCost {
    bool known = false;
    units::LaunchTime time;
    double flops = 0;
    double highest_bytes = 0;  ///< above what was held before it
    double kept_bytes = 0;     ///< when it is done
  };

  void mark_cuts();
  void reserve_runs();
  [[nodiscard]] int end_of_run(int first) const;
  [[nodiscard]] const TaskCost& cost_of(const Task& task);
  [[nodiscard]] TaskCost measure(const Task& task);
  void add_run(int first, int last);
  void walk_run(int first, int last);

  // data_parallel.cpp
  void plan();
  void issue_after(int task);
  void issue_restore(std::size_t index);
  void issue_reduce(std::size_t index);
  void reduce_at_the_end();
  void wait_for_buffers(int task);
  void free_weights(int task);

  // update.cpp
  void queue_update(int unit, OperationId reduced);
  void flush_updates();
  void finish();
  void global_norm();
  void update(int unit, OperationId after);
  OperationId copy_weights_in(int unit, OperationId after);
  void copy_gradients_out(int unit, OperationId after);
  [[nodiscard]] bool updates_on_host() const;
  [[nodiscard]] bool waits_for_other_end(int unit) const;
  [[nodiscard]] bool shares_embedding() const;
  void reduce_tied_embeddings();

  const scenario::Scenario& scenario_;
  const scenario::Strategy& strategy_;
  const model::WorkModel& work_;
  const schedules::ScheduleTable& table_;
  const std::vector<MessageEdge>& edges_;
  int rank_;
  CommunicationGaps message_gaps_;   ///< empty unless the messages are prescribed
  CommunicationGaps sharding_gaps_;  ///< empty unless restores and reductions are prescribed
  bool sharded_;                     ///< optimizer state is cut over the data-parallel group
  bool whole_weights_;               ///< weights of all units resident
  bool whole_gradients_;             ///< gradients of all units resident

  ProgramBuilder builder_;
  RoleTasks role_;
  DataParallelPlan plan_;
  TaskIndex restores_after_;  ///< by issue position, indices into plan_.restores; likewise the next ones
  TaskIndex reduces_after_;
  /// Whole gradients that no compute hides are reduced behind the rank's last action and message (Megatron-LM and
  /// DeepSpeed without buckets), so that the ranks before it do not wait for them.
  bool reduces_at_the_end_ = false;
  std::vector<OperationId> restore_operation_;  ///< by index into plan_.restores
  std::vector<OperationId> reduce_operation_;
  TaskIndex restore_of_first_task_;
  TaskIndex restore_of_last_task_;
  TaskIndex reduce_that_blocks_;
  TaskIndex reduce_of_first_task_;
  std::vector<OperationId> first_operation_;  ///< by task
  std::vector<OperationId> last_operation_;
  std::vector<ChannelEnd> channels_;  ///< by index of the program's channels
  std::vector<MessageEnd> results_;   ///< made by the last actions, not sent yet
  std::size_t next_action_ = 0;
  MessageTable receive_;
  MessageTable done_;                                              ///< last operation of finished actions
  std::map<std::pair<int, int>, OperationId> checkpoint_evicted_;  ///< (unit, micro-batch)
  std::vector<std::pair<int, OperationId>> queued_updates_;
  bool ends_are_summed_ = false;         ///< the gradients of a tied matrix, over both its copies
  std::vector<OperationId> weights_in_;  ///< by unit: copy from host that its first use waits for
  OperationId task_first_ = kNoOperation;

  const TensorTimes* tensor_times_ = nullptr;  ///< coarse form only, as are the next three
  TaskCost merged_;
  bool has_batch_ = false;              ///< of messages since the last action
  bool host_waits_ = false;             ///< before it launches what comes next on the compute stream
  std::vector<TaskCost> cost_of_kind_;  ///< [embedding, layer, head][action type]
  std::vector<char> cut_;               ///< [task] 1: no run goes on from the task before
};

}  // namespace lamina::lowering
