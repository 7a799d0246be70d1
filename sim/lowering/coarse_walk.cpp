#include <algorithm>

#include "sim/lowering/role_lowering.hpp"

namespace lamina::lowering {

using graph::MemoryCategory;
using schedules::ActionType;

namespace {

constexpr std::size_t kActionTypes = 4;

}  // namespace

graph::Program RoleLowering::lower_coarse(const TensorTimes& tensor_times) {
  tensor_times_ = &tensor_times;
  cost_of_kind_.assign(3 * kActionTypes, {});
  plan();
  mark_cuts();
  reserve_runs();
  add_channels();
  if (strategy_.point_to_point == scenario::PointToPoint::kSeparateStreams) {
    post_all_receives();
  }
  reside();
  issue_after(kStepStart);
  for (int first = 0; first < static_cast<int>(role_.tasks.size());) {
    const int last = end_of_run(first);
    walk_run(first, last);
    first = last + 1;
  }
  exchange(next_action_);
  finish();
  return std::move(builder_.program());
}

/// Wherever something begins, ends or is awaited between two tasks.
void RoleLowering::mark_cuts() {
  const bool all = strategy_.offload.checkpoints || strategy_.offload.state;
  cut_.assign(role_.tasks.size() + 1, all ? 1 : 0);
  const auto last = static_cast<int>(role_.tasks.size());
  const auto cut = [&](int task) { cut_[static_cast<std::size_t>(std::clamp(task, 0, last))] = 1; };
  for (const Restore& restore : plan_.restores) {
    cut(restore.issue_after + 1);
    cut(restore.first_task);
    cut(restore.waits_for + 1);
    if (!whole_weights_) {
      cut(restore.last_task + 1);
    }
  }
  for (const Reduce& reduce : plan_.reduces) {
    if (!reduces_at_the_end_) {
      cut(reduce.after + 1);
    }
    if (!whole_gradients_) {
      cut(reduce.first_task);
      cut(reduce.blocks);
    }
  }
}

/// Room for what the walk is going to add: growing step by step would copy it several times.
void RoleLowering::reserve_runs() {
  std::size_t runs = 0;
  for (std::size_t task = 0; task < role_.tasks.size(); ++task) {
    runs += role_.tasks[task].last_of_action || cut_[task + 1] != 0 ? 1 : 0;
  }
  const std::size_t actions = table_.actions[static_cast<std::size_t>(rank_)].size();
  const std::size_t transfers = plan_.restores.size() + plan_.reduces.size();
  builder_.reserve(runs + 2 * actions + transfers + role_.units.size(), 2 * runs + 4 * actions + 2 * transfers,
                   3 * actions + 3 * transfers);
}

int RoleLowering::end_of_run(int first) const {
  auto last = static_cast<std::size_t>(first);
  while (!role_.tasks[last].last_of_action && cut_[last + 1] == 0) {
    ++last;
  }
  return static_cast<int>(last);
}

const RoleLowering::TaskCost& RoleLowering::cost_of(const Task& task) {
  const int layer = role_.units[static_cast<std::size_t>(task.unit)].layer;
  const std::size_t kind = layer < 0 ? 0 : layer < work_.layers ? 1 : 2;
  TaskCost& cost = cost_of_kind_[kind * kActionTypes + static_cast<std::size_t>(task.type)];
  if (!cost.known) {
    cost = measure(task);
  }
  return cost;
}

RoleLowering::TaskCost RoleLowering::measure(const Task& task) {
  merged_ = {};
  merged_.known = true;
  compute_blocks(task);
  TaskCost cost = merged_;
  const TaskMemory memory = memory_of(task);
  cost.highest_bytes = std::max(0.0, memory.transient_taken + memory.checkpoint_taken);
  cost.kept_bytes =
      memory.transient_taken + memory.checkpoint_taken - memory.transient_returned - memory.checkpoint_returned;
  return cost;
}

/// Appends the run as one operation that holds its highest balance from start to end.
void RoleLowering::add_run(int first, int last) {
  const Task& head = role_.tasks[static_cast<std::size_t>(first)];
  TaskCost run;
  if (gathers_input(head)) {
    const auto gather = static_cast<std::size_t>(graph::CollectiveKind::kAllGather);
    run.time = units::LaunchTime::of((*tensor_times_)[gather].seconds(work_.message.value()),
                                     work_.forward_launches.collective.value());
  }
  for (int i = first; i <= last; ++i) {
    const TaskCost& cost = cost_of(role_.tasks[static_cast<std::size_t>(i)]);
    run.time += cost.time;
    run.flops += cost.flops;
    run.highest_bytes = std::max(run.highest_bytes, run.kept_bytes + cost.highest_bytes);
    run.kept_bytes += cost.kept_bytes;
  }
  graph::Operation compute;
  compute.stage = head.stage;
  compute.micro_batch = head.micro_batch;
  compute.layer = -2;
  set_time(compute, run.time);
  compute.flops = run.flops;
  const OperationId id = builder_.add(compute);
  std::fill(first_operation_.begin() + first, first_operation_.begin() + last + 1, id);
  std::fill(last_operation_.begin() + first, last_operation_.begin() + last + 1, id);
  builder_.take(id, false, MemoryCategory::kWorkingSet, run.highest_bytes);
  builder_.give_back(id, true, MemoryCategory::kWorkingSet, run.highest_bytes - run.kept_bytes);
  const bool backward = head.type != ActionType::kForward;
  if (head.type != ActionType::kWeightGradient && head.first_of_action &&
      receive_.find(head.stage, head.micro_batch, backward) != kNoOperation) {
    builder_.give_back(id, true, MemoryCategory::kBuffers, message_bytes());
  }
}

void RoleLowering::walk_run(int first, int last) {
  const Task& head = role_.tasks[static_cast<std::size_t>(first)];
  const Task& tail = role_.tasks[static_cast<std::size_t>(last)];
  if (head.first_of_action) {
    exchange(next_action_++);
  }
  wait_for_buffers(first);
  if (head.first_of_action) {
    wait_for_inputs(head);
  }
  fetch_checkpoint(first);
  add_run(first, last);
  free_weights(first);
  if (last != first) {
    free_weights(last);
  }
  evict_checkpoint(tail);
  if (tail.last_of_action) {
    hand_over(tail);
  }
  issue_after(last);
}

}  // namespace lamina::lowering
