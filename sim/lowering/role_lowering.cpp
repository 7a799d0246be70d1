#include "sim/lowering/role_lowering.hpp"

#include <fmt/format.h>

#include "sim/error/error.hpp"

namespace lamina::lowering {

using graph::MemoryCategory;
using graph::OperationKind;
using graph::Phase;
using graph::StreamKind;
using scenario::ShardingLevel;
using schedules::ActionType;

RoleLowering::RoleLowering(const scenario::Scenario& scenario, const model::WorkModel& work,
                           const schedules::ScheduleTable& table, const std::vector<MessageEdge>& edges,
                           const PrescribedRows& rows, int rank)
    : scenario_(scenario),
      strategy_(scenario.strategy),
      work_(work),
      table_(table),
      edges_(edges),
      rank_(rank),
      role_(tasks_of(scenario.strategy, table, rank, work)),
      receive_(table, rank),
      done_(table, rank) {
  const auto index = static_cast<std::size_t>(rank);
  message_gaps_ = rows.messages.empty() ? CommunicationGaps{} : communication_gaps(rows.messages[index]);
  sharding_gaps_ = rows.sharding.empty() ? CommunicationGaps{} : communication_gaps(rows.sharding[index]);
  const bool replicated = strategy_.data_parallel > 1;
  const ShardingLevel level = strategy_.sharding.level;
  sharded_ = replicated && level != ShardingLevel::kNone;
  whole_weights_ = !replicated || level != ShardingLevel::kFull;
  whole_gradients_ = !replicated || level == ShardingLevel::kNone || level == ShardingLevel::kOptimizer;
  first_operation_.assign(role_.tasks.size(), kNoOperation);
  last_operation_.assign(role_.tasks.size(), kNoOperation);
  weights_in_.assign(role_.units.size(), kNoOperation);
}

graph::Program RoleLowering::lower() {
  const std::size_t tasks = role_.tasks.size();  // a layer is two blocks, with an exchange and a recomputation each
  builder_.reserve(5 * tasks, 4 * tasks, 2 * tasks);
  add_channels();
  if (strategy_.point_to_point == scenario::PointToPoint::kSeparateStreams) {
    post_all_receives();
  }
  reside();
  plan();
  issue_after(kStepStart);
  for (int task = 0; task < static_cast<int>(role_.tasks.size()); ++task) {
    walk(task);
  }
  exchange(next_action_);
  finish();
  return std::move(builder_.program());
}

/// What stays on the device for the whole step.
void RoleLowering::reside() {
  const double shards = sharded_ ? strategy_.data_parallel : 1;
  for (const Unit& unit : role_.units) {
    if (!strategy_.offload.state) {
      builder_.reside(MemoryCategory::kState, unit.cost->state_bytes.value() / shards);
    }
    if (whole_weights_) {
      builder_.reside(MemoryCategory::kWeights, unit.cost->weight_bytes.value());
    }
    if (whole_gradients_) {
      builder_.reside(MemoryCategory::kGradients, unit.cost->gradient_bytes.value());
    } else if (strategy_.update == scenario::Update::kAfterGlobalNorm) {
      // Reduced shards wait for the norm of the last one.
      builder_.reside(MemoryCategory::kGradients, unit.cost->gradient_bytes.value() / shards);
    }
  }
}

void RoleLowering::walk(int index) {
  const Task& task = role_.tasks[static_cast<std::size_t>(index)];
  if (task.first_of_action) {
    exchange(next_action_++);
  }
  wait_for_buffers(index);
  if (task.first_of_action) {
    wait_for_inputs(task);
  }
  fetch_checkpoint(index);
  task_first_ = kNoOperation;
  compute(index);
  account_memory(index);
  free_weights(index);
  evict_checkpoint(task);
  if (task.last_of_action) {
    hand_over(task);
  }
  issue_after(index);
}

/// The action's activations (or output gradients) come by message, or from a stage of this rank that must be done.
void RoleLowering::wait_for_inputs(const Task& task) {
  if (task.type == ActionType::kWeightGradient) {
    return;  // its input gradient ran on this rank before it
  }
  const schedules::Stage& stage = table_.stages[static_cast<std::size_t>(task.stage)];
  const bool gradients = task.type != ActionType::kForward;
  const int source = gradients ? stage.next : stage.previous;
  if (gradients && done_.find(task.stage, task.micro_batch, false) == kNoOperation) {
    throw error::InternalError(
        fmt::format("schedule: rank {} runs the backward of stage {}, micro-batch {} before its "
                    "forward",
                    rank_, task.stage, task.micro_batch));
  }
  host_waits_ = strategy_.synchronous_batches && !gradients;
  if (source < 0) {
    return;
  }
  const OperationId received = receive_.find(task.stage, task.micro_batch, gradients);
  if (received != kNoOperation) {
    builder_.hold_compute_for(received);
    // Megatron-LM synchronises the device behind each batch of messages (megatron/core/pipeline_parallel,
    // batch_p2p_sync).
    host_waits_ = host_waits_ || strategy_.point_to_point == scenario::PointToPoint::kFusedRendezvous;
    return;
  }
  if (done_.find(source, task.micro_batch, gradients) == kNoOperation) {
    throw error::InternalError(
        fmt::format("schedule: rank {} runs stage {}, micro-batch {} before stage {} that feeds it", rank_, task.stage,
                    task.micro_batch, source));
  }
}

void RoleLowering::hand_over(const Task& task) {
  if (task.type == ActionType::kWeightGradient) {
    return;
  }
  const bool gradients = task.type != ActionType::kForward;
  done_.set(task.stage, task.micro_batch, gradients, builder_.last_compute());
  const MessageEnd result{task.stage, task.micro_batch, gradients};
  if (peer_of(result, true) == rank_) {
    return;
  }
  if (strategy_.point_to_point == scenario::PointToPoint::kSeparateStreams) {
    issue_send(result);
  } else {
    results_.push_back(result);
  }
}

graph::Operation RoleLowering::operation(OperationKind kind, Phase phase, const Task& task) const {
  graph::Operation result = unit_operation(kind, phase, task.unit);
  result.micro_batch = task.micro_batch;
  return result;
}

graph::Operation RoleLowering::unit_operation(OperationKind kind, Phase phase, int unit) const {
  const Unit& owner = role_.units[static_cast<std::size_t>(unit)];
  graph::Operation result;
  result.kind = kind;
  result.phase = phase;
  result.stage = owner.stage;
  result.layer = owner.layer;
  return result;
}

}  // namespace lamina::lowering
