#include <algorithm>
#include <utility>

#include "sim/lowering/role_lowering.hpp"

namespace lamina::lowering {

using graph::CollectiveKind;
using graph::MemoryCategory;
using graph::OperationKind;
using graph::Phase;
using graph::StreamKind;
using schedules::ActionType;

namespace {

bool is_embedding(const model::BlockCost& block) {
  return block.name == "embedding";
}

bool is_head(const model::BlockCost& block) {
  return block.name == "head";
}

}  // namespace

bool RoleLowering::recomputes(const Task& task) const {
  const Unit& unit = role_.units[static_cast<std::size_t>(task.unit)];
  const bool is_layer = unit.layer >= 0 && unit.layer < work_.layers;
  const bool backward = task.type == ActionType::kBackward || task.type == ActionType::kInputGradient;
  return is_layer && backward && strategy_.recompute != scenario::Recompute::kNone;
}

/// Messages came in slices, of which the tensor group makes the whole again.
bool RoleLowering::gathers_input(const Task& task) const {
  const bool received = receive_.find(task.stage, task.micro_batch, task.type != ActionType::kForward) != kNoOperation;
  const bool gathers = strategy_.tensor_parallel > 1 && strategy_.sliced_sends && !strategy_.sequence_parallel &&
                       !scenario_.model.custom && task.type != ActionType::kWeightGradient;
  return task.first_of_action && received && gathers;
}

void RoleLowering::compute(int index) {
  const Task& task = role_.tasks[static_cast<std::size_t>(index)];
  if (gathers_input(task)) {
    add_tensor_collective(task, CollectiveKind::kAllGather, -1, work_.message.value(), work_.forward_launches);
  }
  compute_blocks(task);
  first_operation_[static_cast<std::size_t>(index)] = task_first_;
  last_operation_[static_cast<std::size_t>(index)] = builder_.last_compute();
}

void RoleLowering::compute_blocks(const Task& task) {
  if (task.type == ActionType::kForward) {
    forward_blocks(task, Phase::kForward);
  } else {
    if (recomputes(task) && strategy_.recompute == scenario::Recompute::kFull) {
      forward_blocks(task, Phase::kRecompute);
    }
    backward_blocks(task);
  }
}

void RoleLowering::forward_blocks(const Task& task, Phase phase) {
  const auto& blocks = role_.units[static_cast<std::size_t>(task.unit)].cost->blocks;
  const model::Pass pass = phase == Phase::kForward ? model::Pass::kForward : model::Pass::kRecompute;
  units::LaunchTime time;
  double flops = 0;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const model::BlockCost& block = blocks[b];
    const double payload = block.tensor_payload.value();
    const bool sequence = strategy_.sequence_parallel;
    if (payload > 0 && sequence && !is_embedding(block)) {
      add_tensor_collective(task, CollectiveKind::kAllGather, static_cast<int>(b), payload, work_.forward_launches);
    }
    time += block.pass(pass).launch_time();
    flops += block.pass(pass).flops.value();
    const bool exchanges = payload > 0 && !is_head(block);
    const bool last = b + 1 == blocks.size();
    const bool next_gathers = !last && sequence && blocks[b + 1].tensor_payload.value() > 0;
    if (exchanges || last || next_gathers) {
      add_compute(task, phase, static_cast<int>(b), time, flops);
      time = {};
      flops = 0;
    }
    if (exchanges) {
      const CollectiveKind kind = sequence ? CollectiveKind::kReduceScatter : CollectiveKind::kAllReduce;
      add_tensor_collective(task, kind, static_cast<int>(b), payload, work_.forward_launches);
    }
  }
}

/// Blocks in reverse: gather of the output gradient (sequence parallel), kernels, exchange of the input gradient.
/// Selective recomputation needs no exchange and runs in front of its block's backward.
void RoleLowering::backward_blocks(const Task& task) {
  const auto& blocks = role_.units[static_cast<std::size_t>(task.unit)].cost->blocks;
  const bool selective = recomputes(task) && strategy_.recompute == scenario::Recompute::kSelective;
  const bool exchanges_here = task.type != ActionType::kWeightGradient;
  Phase phase = Phase::kBackward;
  if (task.type != ActionType::kBackward) {
    phase = task.type == ActionType::kInputGradient ? Phase::kInputGradient : Phase::kWeightGradient;
  }
  units::LaunchTime time;
  double flops = 0;
  for (std::size_t i = blocks.size(); i > 0; --i) {
    const auto b = static_cast<int>(i - 1);
    const model::BlockCost& block = blocks[i - 1];
    const double payload = exchanges_here ? block.tensor_payload.value() : 0;
    if (payload > 0 && strategy_.sequence_parallel && !is_head(block)) {
      add_tensor_collective(task, CollectiveKind::kAllGather, b, payload, work_.backward_launches);
    }
    if (selective && block.recompute.duration.value() > 0) {
      add_compute(task, Phase::kRecompute, b, block.recompute.launch_time(), block.recompute.flops.value());
    }
    if (task.type != ActionType::kWeightGradient) {
      time += block.input_gradient.launch_time();
      flops += block.input_gradient.flops.value();
    }
    if (task.type != ActionType::kInputGradient) {
      time += block.weight_gradient.launch_time();
      flops += block.weight_gradient.flops.value();
    }
    const bool exchanges = payload > 0 && !is_embedding(block);
    const bool next_gathers = i > 1 && payload > 0;
    const bool next_recomputes = i > 1 && selective && blocks[i - 2].recompute.duration.value() > 0;
    if (exchanges || i == 1 || next_gathers || next_recomputes) {
      add_compute(task, phase, b, time, flops);
      time = {};
      flops = 0;
    }
    if (exchanges) {
      const CollectiveKind kind =
          strategy_.sequence_parallel ? CollectiveKind::kReduceScatter : CollectiveKind::kAllReduce;
      add_tensor_collective(task, kind, b, payload, work_.backward_launches);
    }
  }
}

/// A batch of messages before the operation is one launch, as NCCL groups them, and one more for the synchronisation.
void RoleLowering::set_time(graph::Operation& compute, const units::LaunchTime& time) {
  units::LaunchTime all;
  if (std::exchange(host_waits_, false)) {
    compute.host_waits = true;
    const model::LaunchIntervals& intervals = work_.forward_launches;
    const Seconds batch = has_batch_ ? intervals.collective : Seconds(0);
    all += units::LaunchTime::of(0, (batch + intervals.kernel).value());
  }
  all += time;
  compute.duration_s = all.device_s;
  compute.host_s = all.host_s;
  compute.tail_s = all.host_s > 0 ? all.tail_s : 0;
}

void RoleLowering::add_compute(const Task& task, Phase phase, int block, const units::LaunchTime& time, double flops) {
  if (tensor_times_ != nullptr) {
    merged_.time += time;
    merged_.flops += flops;
    return;
  }
  graph::Operation compute = operation(OperationKind::kCompute, phase, task);
  compute.block = static_cast<std::int16_t>(block);
  set_time(compute, time);
  compute.flops = flops;
  const OperationId id = builder_.add(compute);
  if (task_first_ == kNoOperation) {
    task_first_ = id;
  }
}

/// Tensor collectives are synchronous, as in Megatron-LM: they stand on the compute stream.
void RoleLowering::add_tensor_collective(const Task& task, CollectiveKind kind, int block, double bytes,
                                         const model::LaunchIntervals& intervals) {
  if (tensor_times_ != nullptr) {
    merged_.time += units::LaunchTime::of((*tensor_times_)[static_cast<std::size_t>(kind)].seconds(bytes),
                                          intervals.collective.value());
    return;
  }
  graph::Operation collective = operation(OperationKind::kCollective, Phase::kTensor, task);
  collective.traffic = graph::Traffic::kTensor;
  collective.collective = kind;
  collective.group = graph::GroupKind::kTensor;
  collective.block = static_cast<std::int16_t>(block);
  collective.bytes = bytes;
  set_time(collective, units::LaunchTime::of(0, intervals.collective.value()));
  const OperationId id = builder_.add(collective);
  if (task_first_ == kNoOperation) {
    task_first_ = id;
  }
}

/// Working set beyond what is kept anyway: recomputed activations, or the kernels' temporaries.
double RoleLowering::transient_bytes(const Task& task) const {
  const Unit& unit = role_.units[static_cast<std::size_t>(task.unit)];
  const bool is_layer = unit.layer >= 0 && unit.layer < work_.layers;
  if (is_layer && strategy_.recompute == scenario::Recompute::kFull) {
    return unit.cost->working_set.value();
  }
  return std::max(0.0, unit.cost->working_set.value() - unit.cost->checkpoint.value());
}

/// From an input gradient to its weight gradient the operands of the latter stay, in the checkpoint and beside it.
RoleLowering::TaskMemory RoleLowering::memory_of(const Task& task) const {
  const model::LayerCost& cost = *role_.units[static_cast<std::size_t>(task.unit)].cost;
  const bool ends_split = task.type == ActionType::kWeightGradient;
  const bool begins_split = task.type == ActionType::kInputGradient;
  const double kept = cost.checkpoint.value();
  const double operands = ends_split || begins_split ? cost.weight_gradient_operands.value() : 0;
  const double operands_in_checkpoint = std::min(kept, operands);
  const double operands_beside = operands - operands_in_checkpoint;
  const double transient = std::max(transient_bytes(task), operands_beside);
  TaskMemory memory;
  memory.transient_taken = ends_split ? 0 : transient;
  memory.transient_returned = ends_split ? operands_beside : transient - (begins_split ? operands_beside : 0);
  if (task.type == ActionType::kForward) {
    memory.checkpoint_taken = kept;
  } else {
    memory.checkpoint_returned =
        ends_split ? operands_in_checkpoint : kept - (begins_split ? operands_in_checkpoint : 0);
  }
  return memory;
}

void RoleLowering::account_memory(int index) {
  const Task& task = role_.tasks[static_cast<std::size_t>(index)];
  const OperationId first = first_operation_[static_cast<std::size_t>(index)];
  const OperationId last = last_operation_[static_cast<std::size_t>(index)];
  const TaskMemory memory = memory_of(task);
  builder_.take(first, false, MemoryCategory::kWorkingSet, memory.transient_taken);
  if (task.type != ActionType::kWeightGradient) {
    const bool backward = task.type != ActionType::kForward;
    if (task.first_of_action && receive_.find(task.stage, task.micro_batch, backward) != kNoOperation) {
      builder_.give_back(last, true, MemoryCategory::kBuffers, message_bytes());
    }
  }
  builder_.give_back(last, true, MemoryCategory::kWorkingSet, memory.transient_returned);
  builder_.take(first, false, MemoryCategory::kCheckpoints, memory.checkpoint_taken);
  builder_.give_back(last, true, MemoryCategory::kCheckpoints, memory.checkpoint_returned);
}

bool RoleLowering::offloads_checkpoint(const Task& task) const {
  return strategy_.offload.checkpoints && role_.units[static_cast<std::size_t>(task.unit)].cost->checkpoint.value() > 0;
}

void RoleLowering::evict_checkpoint(const Task& task) {
  if (task.type != ActionType::kForward || !offloads_checkpoint(task)) {
    return;
  }
  graph::Operation copy = operation(OperationKind::kHostCopy, Phase::kOffload, task);
  copy.traffic = graph::Traffic::kOffload;
  copy.to_host = true;
  copy.stream = strategy_.overlap.offload ? builder_.stream(StreamKind::kHostOut) : std::uint16_t{0};
  copy.bytes = role_.units[static_cast<std::size_t>(task.unit)].cost->checkpoint.value();
  const OperationId last = builder_.last_compute();
  const OperationId id = builder_.add(copy);
  builder_.depend(last, id);
  builder_.give_back(id, true, MemoryCategory::kCheckpoints, copy.bytes);
  checkpoint_evicted_[{task.unit, task.micro_batch}] = id;
}

/// Brings a checkpoint back while the two tasks before its use run, so that two buffers are enough.
void RoleLowering::fetch_checkpoint(int index) {
  const Task& task = role_.tasks[static_cast<std::size_t>(index)];
  const bool first_backward = task.type == ActionType::kBackward || task.type == ActionType::kInputGradient;
  if (!first_backward || !offloads_checkpoint(task)) {
    return;
  }
  graph::Operation copy = operation(OperationKind::kHostCopy, Phase::kOffload, task);
  copy.traffic = graph::Traffic::kOffload;
  copy.stream = strategy_.overlap.offload ? builder_.stream(StreamKind::kHostIn) : std::uint16_t{0};
  copy.bytes = role_.units[static_cast<std::size_t>(task.unit)].cost->checkpoint.value();
  const OperationId id = builder_.add(copy);
  builder_.depend(checkpoint_evicted_.at({task.unit, task.micro_batch}), id);
  if (index >= 2) {
    builder_.depend(last_operation_[static_cast<std::size_t>(index) - 2], id);
  }
  builder_.take(id, false, MemoryCategory::kCheckpoints, copy.bytes);
  builder_.hold_compute_for(id);
}

}  // namespace lamina::lowering
