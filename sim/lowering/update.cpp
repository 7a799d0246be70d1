#include <set>
#include <utility>

#include "sim/lowering/role_lowering.hpp"

namespace lamina::lowering {

using graph::CollectiveKind;
using graph::MemoryCategory;
using graph::OperationKind;
using graph::Phase;
using graph::StreamKind;
using scenario::OffloadUpdate;
using scenario::Update;

namespace {

constexpr double kNormBytes = 4;  // one fp32 number

}  // namespace

/// A unit's gradients are complete. Updating with the reduction puts the optimizer of the unit before it on the compute
/// stream now: its reduction has had a whole unit's backward to hide behind.
void RoleLowering::queue_update(int unit, OperationId reduced) {
  if (updates_on_host() && !waits_for_other_end(unit)) {
    copy_gradients_out(unit, reduced);
  }
  if (strategy_.update == Update::kWithReduction) {
    flush_updates();
  }
  queued_updates_.emplace_back(unit, reduced);
}

void RoleLowering::flush_updates() {
  const auto waiting = std::exchange(queued_updates_, {});
  for (const auto& [unit, reduced] : waiting) {
    if (waits_for_other_end(unit)) {
      queued_updates_.emplace_back(unit, reduced);
    } else {
      update(unit, reduced);
    }
  }
}

bool RoleLowering::updates_on_host() const {
  return strategy_.offload.state && strategy_.offload.update_on == OffloadUpdate::kHost;
}

/// Holds a tied matrix of which the other end of the pipeline has a copy, and both have not been summed yet.
bool RoleLowering::waits_for_other_end(int unit) const {
  const int layer = role_.units[static_cast<std::size_t>(unit)].layer;
  return !ends_are_summed_ && (layer == -1 || layer == work_.layers) && shares_embedding();
}

void RoleLowering::finish() {
  reduce_at_the_end();
  reduce_tied_embeddings();
  if (strategy_.update == Update::kAfterGlobalNorm) {
    for (const auto& [unit, reduced] : queued_updates_) {
      builder_.hold_compute_for(reduced);
    }
    global_norm();
  }
  flush_updates();
}

/// Sum of squares over everything that holds a different part of the gradients.
void RoleLowering::global_norm() {
  const auto add = [&](graph::GroupKind group) {
    graph::Operation norm;
    norm.kind = OperationKind::kCollective;
    norm.phase = Phase::kReduce;
    norm.traffic = graph::Traffic::kReduce;
    norm.collective = CollectiveKind::kAllReduce;
    norm.group = group;
    norm.layer = -2;
    norm.bytes = kNormBytes;
    (void)builder_.add(norm);
  };
  if (strategy_.tensor_parallel > 1) {
    add(graph::GroupKind::kTensor);
  }
  if (sharded_) {
    add(graph::GroupKind::kData);
  }
  if (strategy_.pipeline_parallel > 1) {
    add(graph::GroupKind::kPipeline);
  }
}

void RoleLowering::update(int unit, OperationId after) {
  const model::LayerCost& cost = *role_.units[static_cast<std::size_t>(unit)].cost;
  const double shards = sharded_ ? strategy_.data_parallel : 1;
  const double state = cost.state_bytes.value() / shards;
  if (updates_on_host()) {
    return;  // the host updates; its time is not modelled (docs/model.md)
  }
  graph::Operation optimizer = unit_operation(OperationKind::kCompute, Phase::kUpdate, unit);
  optimizer.duration_s = cost.update.value() / shards;
  if (!strategy_.offload.state) {
    builder_.hold_compute_for(after);
    (void)builder_.add(optimizer);
    return;
  }
  graph::Operation copy = unit_operation(OperationKind::kHostCopy, Phase::kOffload, unit);
  copy.traffic = graph::Traffic::kOffload;
  copy.bytes = state;
  copy.stream = strategy_.overlap.offload ? builder_.stream(StreamKind::kHostIn) : std::uint16_t{0};
  const OperationId in = builder_.add(copy);
  builder_.depend(after, in);
  builder_.take(in, false, MemoryCategory::kState, state);
  builder_.hold_compute_for(in);
  const OperationId updated = builder_.add(optimizer);
  copy.to_host = true;
  copy.stream = strategy_.overlap.offload ? builder_.stream(StreamKind::kHostOut) : std::uint16_t{0};
  const OperationId out = builder_.add(copy);
  builder_.depend(updated, out);
  builder_.give_back(out, true, MemoryCategory::kState, state);
}

/// Half-precision weights that the host has updated: this rank's shard before a restore, or all of them.
OperationId RoleLowering::copy_weights_in(int unit, OperationId after) {
  const model::LayerCost& cost = *role_.units[static_cast<std::size_t>(unit)].cost;
  graph::Operation copy = unit_operation(OperationKind::kHostCopy, Phase::kOffload, unit);
  copy.traffic = graph::Traffic::kOffload;
  copy.bytes = cost.weight_bytes.value() / (sharded_ ? strategy_.data_parallel : 1);
  copy.stream = strategy_.overlap.offload ? builder_.stream(StreamKind::kHostIn) : std::uint16_t{0};
  const OperationId id = builder_.add(copy);
  builder_.depend(after, id);
  return id;
}

void RoleLowering::copy_gradients_out(int unit, OperationId after) {
  const model::LayerCost& cost = *role_.units[static_cast<std::size_t>(unit)].cost;
  graph::Operation copy = unit_operation(OperationKind::kHostCopy, Phase::kOffload, unit);
  copy.traffic = graph::Traffic::kOffload;
  copy.to_host = true;
  copy.bytes = cost.gradient_bytes.value() / (sharded_ ? strategy_.data_parallel : 1);
  copy.stream = strategy_.overlap.offload ? builder_.stream(StreamKind::kHostOut) : std::uint16_t{0};
  const OperationId id = builder_.add(copy);
  builder_.depend(after, id);
}

/// The embedding and the head that uses its matrix are on different ranks, and this is one of them. A V placement has
/// both on rank 0.
bool RoleLowering::shares_embedding() const {
  const scenario::Model& model = scenario_.model;
  if (!model.tied_embeddings || model.vocabulary == 0 || model.custom) {
    return false;
  }
  std::set<int> holders;
  for (const schedules::Stage& stage : table_.stages) {
    if (stage.previous == -1 || stage.next == -1) {
      holders.insert(stage.rank);
    }
  }
  return holders.size() > 1 && holders.contains(rank_);
}

/// First and last pipeline rank hold one matrix twice; its gradients are summed after the data-parallel reduction.
void RoleLowering::reduce_tied_embeddings() {
  const scenario::Model& model = scenario_.model;
  if (!shares_embedding()) {
    return;
  }
  graph::Operation reduce;
  reduce.kind = OperationKind::kCollective;
  reduce.phase = Phase::kReduce;
  reduce.traffic = graph::Traffic::kReduce;
  reduce.collective = CollectiveKind::kAllReduce;
  reduce.group = graph::GroupKind::kEmbedding;
  reduce.layer = rank_ == 0 ? -1 : work_.layers;
  reduce.bytes = static_cast<double>(model.vocabulary * model.hidden) / strategy_.tensor_parallel *
                 scenario::bytes_of(strategy_.precision.gradients) / (sharded_ ? strategy_.data_parallel : 1);
  for (const auto& [unit, reduced] : queued_updates_) {
    builder_.hold_compute_for(reduced);
  }
  const OperationId id = builder_.add(reduce);
  builder_.hold_compute_for(id);
  for (const auto& [unit, reduced] : queued_updates_) {
    if (updates_on_host() && waits_for_other_end(unit)) {
      copy_gradients_out(unit, id);
    }
  }
  ends_are_summed_ = true;
}

}  // namespace lamina::lowering
