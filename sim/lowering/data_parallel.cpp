#include "sim/lowering/role_lowering.hpp"

namespace lamina::lowering {

using graph::CollectiveKind;
using graph::MemoryCategory;
using graph::OperationKind;
using graph::Phase;
using graph::StreamKind;
using scenario::Update;

void RoleLowering::plan() {
  plan_ = sharding_gaps_.empty() ? plan_data_parallel(role_, strategy_.sharding)
                                 : plan_as_prescribed(role_, strategy_.sharding, sharding_gaps_);
  if (strategy_.data_parallel == 1) {
    plan_.restores.clear();
    scenario::Sharding whole;
    plan_.reduces = plan_data_parallel(role_, whole).reduces;  // they mark where gradients are complete
  }
  restore_operation_.assign(plan_.restores.size(), kNoOperation);
  reduce_operation_.assign(plan_.reduces.size(), kNoOperation);
  for (Restore& restore : plan_.restores) {
    if (!strategy_.overlap.restore) {  // weights that stay were gathered behind the update, all at once
      restore.issue_after = whole_weights_ ? kStepStart : restore.first_task - 1;
    }
  }
  constexpr int kNever = kStepStart - 1;
  const auto index = [&](const auto& entries, auto task) {
    std::vector<int> tasks;
    tasks.reserve(entries.size());
    for (const auto& entry : entries) {
      tasks.push_back(task(entry));
    }
    return TaskIndex(role_.tasks.size(), tasks);
  };
  restores_after_ = index(plan_.restores, [](const Restore& restore) { return restore.issue_after; });
  restore_of_first_task_ = index(plan_.restores, [](const Restore& restore) { return restore.first_task; });
  restore_of_last_task_ = index(plan_.restores, [](const Restore& restore) { return restore.last_task; });
  reduces_at_the_end_ = strategy_.data_parallel > 1 && whole_gradients_ && !strategy_.overlap.reduce;
  reduces_after_ =
      index(plan_.reduces, [&](const Reduce& reduce) { return reduces_at_the_end_ ? kNever : reduce.after; });
  reduce_of_first_task_ = index(plan_.reduces, [](const Reduce& reduce) { return reduce.first_task; });
  reduce_that_blocks_ =
      index(plan_.reduces, [](const Reduce& reduce) { return reduce.blocks >= 0 ? reduce.blocks : kNever; });
}

/// Restores first: the next compute waits for them sooner than for the gradient buffer.
void RoleLowering::issue_after(int task) {
  if (task == kStepStart && strategy_.offload.state && whole_weights_ &&
      strategy_.offload.update_on == scenario::OffloadUpdate::kHost) {
    for (int unit = 0; unit < static_cast<int>(role_.units.size()); ++unit) {
      weights_in_[static_cast<std::size_t>(unit)] = copy_weights_in(unit, kNoOperation);
    }
  }
  for (const std::uint32_t entry : restores_after_.at(task)) {
    issue_restore(entry);
  }
  for (const std::uint32_t entry : reduces_after_.at(task)) {
    issue_reduce(entry);
  }
}

void RoleLowering::reduce_at_the_end() {
  if (reduces_at_the_end_) {
    for (std::size_t entry = 0; entry < plan_.reduces.size(); ++entry) {
      issue_reduce(entry);
    }
  }
}

void RoleLowering::issue_restore(std::size_t index) {
  const Restore& restore = plan_.restores[index];
  const model::LayerCost& cost = *role_.units[static_cast<std::size_t>(restore.unit)].cost;
  graph::Operation gather = unit_operation(OperationKind::kCollective, Phase::kRestore, restore.unit);
  gather.traffic = graph::Traffic::kRestore;
  gather.collective = CollectiveKind::kAllGather;
  gather.group = graph::GroupKind::kData;
  gather.stream = strategy_.overlap.restore ? builder_.stream(StreamKind::kData) : std::uint16_t{0};
  gather.bytes = cost.weight_bytes.value();
  OperationId before = kNoOperation;
  if (restore.waits_for >= 0) {
    before = last_operation_[static_cast<std::size_t>(restore.waits_for)];
  } else if (restore.issue_after >= 0) {
    before = last_operation_[static_cast<std::size_t>(restore.issue_after)];
  }
  if (!strategy_.sharding.prefetch && restore.issue_after >= 0) {
    before = last_operation_[static_cast<std::size_t>(restore.issue_after)];
  }
  OperationId copied = weights_in_[static_cast<std::size_t>(restore.unit)];
  if (strategy_.offload.state && !whole_weights_) {
    copied = copy_weights_in(restore.unit, before);
  }
  const OperationId id = builder_.add(gather);
  builder_.depend(before, id);
  builder_.depend(copied, id);
  if (!whole_weights_) {
    builder_.take(id, false, MemoryCategory::kWeights, gather.bytes);
  }
  restore_operation_[index] = id;
}

void RoleLowering::issue_reduce(std::size_t index) {
  const Reduce& reduce = plan_.reduces[index];
  const OperationId complete = last_operation_[static_cast<std::size_t>(reduce.after)];
  OperationId id = complete;
  if (strategy_.data_parallel > 1) {
    const model::LayerCost& cost = *role_.units[static_cast<std::size_t>(reduce.unit)].cost;
    graph::Operation operation = unit_operation(OperationKind::kCollective, Phase::kReduce, reduce.unit);
    operation.traffic = graph::Traffic::kReduce;
    operation.collective = sharded_ ? CollectiveKind::kReduceScatter : CollectiveKind::kAllReduce;
    operation.group = graph::GroupKind::kData;
    operation.stream = strategy_.overlap.reduce ? builder_.stream(StreamKind::kData) : std::uint16_t{0};
    operation.bytes = cost.gradient_bytes.value();
    id = builder_.add(operation);
    builder_.depend(complete, id);
    if (!whole_gradients_) {
      builder_.give_back(id, true, MemoryCategory::kGradients, operation.bytes);
    }
  }
  reduce_operation_[index] = id;
  if (reduce.is_last) {
    queue_update(reduce.unit, id);
  }
}

/// A task waits for its weights, and for the gradient buffer's former content to be reduced.
void RoleLowering::wait_for_buffers(int index) {
  for (const std::uint32_t entry : restore_of_first_task_.at(index)) {
    builder_.hold_compute_for(restore_operation_[entry]);
  }
  const Task& task = role_.tasks[static_cast<std::size_t>(index)];
  if (plan_.restores.empty()) {
    OperationId& copied = weights_in_[static_cast<std::size_t>(task.unit)];
    if (copied != kNoOperation) {
      builder_.hold_compute_for(copied);
      copied = kNoOperation;
    }
  }
  if (whole_gradients_) {
    return;
  }
  for (const std::uint32_t entry : reduce_that_blocks_.at(index)) {
    builder_.hold_compute_for(reduce_operation_[entry]);
  }
}

/// Buffers change hands: gradient buffers are taken by their first task, weight buffers given back by their last.
void RoleLowering::free_weights(int index) {
  if (!whole_gradients_) {
    for (const std::uint32_t entry : reduce_of_first_task_.at(index)) {
      const Unit& unit = role_.units[static_cast<std::size_t>(plan_.reduces[entry].unit)];
      builder_.take(first_operation_[static_cast<std::size_t>(index)], false, MemoryCategory::kGradients,
                    unit.cost->gradient_bytes.value());
    }
  }
  if (whole_weights_) {
    return;
  }
  for (const std::uint32_t entry : restore_of_last_task_.at(index)) {
    const Unit& unit = role_.units[static_cast<std::size_t>(plan_.restores[entry].unit)];
    builder_.give_back(last_operation_[static_cast<std::size_t>(index)], true, MemoryCategory::kWeights,
                       unit.cost->weight_bytes.value());
  }
}

}  // namespace lamina::lowering
