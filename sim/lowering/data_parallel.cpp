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
  for (std::size_t i = 0; i < plan_.restores.size(); ++i) {
    Restore& restore = plan_.restores[i];
    if (!strategy_.overlap.restore) {
      restore.issue_after = restore.first_task - 1;
    }
    restores_after_.emplace(restore.issue_after, i);
    restore_of_first_task_.emplace(restore.first_task, i);
    restore_of_last_task_.emplace(restore.last_task, i);
  }
  for (std::size_t i = 0; i < plan_.reduces.size(); ++i) {
    const Reduce& reduce = plan_.reduces[i];
    reduces_after_.emplace(reduce.after, i);
    reduce_of_first_task_.emplace(reduce.first_task, i);
    if (reduce.blocks >= 0) {
      reduce_that_blocks_.emplace(reduce.blocks, i);
    }
  }
}

/// Restores first: the next compute waits for them sooner than for the gradient buffer.
void RoleLowering::issue_after(int task) {
  if (task == kStepStart && strategy_.offload.state && whole_weights_ &&
      strategy_.offload.update_on == scenario::OffloadUpdate::kHost) {
    for (int unit = 0; unit < static_cast<int>(role_.units.size()); ++unit) {
      weights_in_[static_cast<std::size_t>(unit)] = copy_weights_in(unit, kNoOperation);
    }
  }
  const auto [first_restore, last_restore] = restores_after_.equal_range(task);
  for (auto entry = first_restore; entry != last_restore; ++entry) {
    issue_restore(entry->second);
  }
  const auto [first_reduce, last_reduce] = reduces_after_.equal_range(task);
  for (auto entry = first_reduce; entry != last_reduce; ++entry) {
    issue_reduce(entry->second);
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
  const auto [first, last] = restore_of_first_task_.equal_range(index);
  for (auto entry = first; entry != last; ++entry) {
    builder_.hold_compute_for(restore_operation_[entry->second]);
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
  const auto [first_blocked, last_blocked] = reduce_that_blocks_.equal_range(index);
  for (auto entry = first_blocked; entry != last_blocked; ++entry) {
    builder_.hold_compute_for(reduce_operation_[entry->second]);
  }
}

/// Buffers change hands: gradient buffers are taken by their first task, weight buffers given back by their last.
void RoleLowering::free_weights(int index) {
  if (!whole_gradients_) {
    const auto [first, last] = reduce_of_first_task_.equal_range(index);
    for (auto entry = first; entry != last; ++entry) {
      const Unit& unit = role_.units[static_cast<std::size_t>(plan_.reduces[entry->second].unit)];
      builder_.take(first_operation_[static_cast<std::size_t>(index)], false, MemoryCategory::kGradients,
                    unit.cost->gradient_bytes.value());
    }
  }
  if (whole_weights_) {
    return;
  }
  const auto [first, last] = restore_of_last_task_.equal_range(index);
  for (auto entry = first; entry != last; ++entry) {
    const Unit& unit = role_.units[static_cast<std::size_t>(plan_.restores[entry->second].unit)];
    builder_.give_back(last_operation_[static_cast<std::size_t>(index)], true, MemoryCategory::kWeights,
                       unit.cost->weight_bytes.value());
  }
}

}  // namespace lamina::lowering
