#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "sim/explain/sections.hpp"
#include "sim/lowering/partition.hpp"

namespace lamina::explain {
namespace {

/// Most transformer layers whose activations pipeline rank 0 holds, each for one micro-batch; of a layer that waits for
/// its weight gradient only the share that stays counts.
double most_alive(const Subject& subject) {
  const schedules::ScheduleTable& table = subject.prepared.table;
  const model::LayerCost& layer = subject.prepared.work.layer;
  const double checkpoint = layer.checkpoint.value();
  const double stays = checkpoint > 0 ? std::min(1.0, layer.weight_gradient_operands.value() / checkpoint) : 1;
  double alive = 0;
  double most = 0;
  for (const schedules::Action& action : table.actions.front()) {
    const int chunk = table.stages[static_cast<std::size_t>(action.stage)].model_chunk;
    const int layers =
        lowering::layers_of_chunk(subject.scenario.strategy, subject.scenario.model.layers, table.model_chunks, chunk)
            .size();
    switch (action.type) {
      case schedules::ActionType::kForward:
        alive += layers;
        break;
      case schedules::ActionType::kBackward:
        alive -= layers;
        break;
      case schedules::ActionType::kInputGradient:
        alive -= layers * (1 - stays);
        break;
      case schedules::ActionType::kWeightGradient:
        alive -= layers * stays;
        break;
    }
    most = std::max(most, alive);
  }
  return most;
}

const char* resident_formula(graph::MemoryCategory category, scenario::ShardingLevel level) {
  using scenario::ShardingLevel;
  switch (category) {
    case graph::MemoryCategory::kState:
      return level == ShardingLevel::kNone ? "state of the rank's layers" : "state of the rank's layers / data ranks";
    case graph::MemoryCategory::kWeights:
      return level == ShardingLevel::kFull ? "shard of the rank's layers" : "weights of the rank's layers";
    case graph::MemoryCategory::kGradients:
      return level == ShardingLevel::kNone || level == ShardingLevel::kOptimizer ? "gradients of the rank's layers"
                                                                                 : "shard of the rank's layers";
    case graph::MemoryCategory::kBuffers:
      return "full layers that restores and reductions pass through";
    case graph::MemoryCategory::kCheckpoints:
    case graph::MemoryCategory::kWorkingSet:
      break;
  }
  return "resident for the whole step";
}

void write_per_layer(Writer& writer, const Subject& subject) {
  const auto& layer = subject.prepared.work.layer;
  const auto& precision = subject.scenario.strategy.precision;
  const std::string parameters = count_of(layer.parameters);
  if (subject.scenario.model.custom.has_value()) {
    writer.number("weights, one layer", memory_of(layer.weight_bytes), "as given", "model.custom");
    writer.number("state, one layer", memory_of(layer.state_bytes), "as given", "model.custom");
  } else {
    writer.number("weights, one layer", memory_of(layer.weight_bytes),
                  fmt::format("{} parameters x {:g} B", parameters, scenario::bytes_of(precision.weights)));
    writer.number("gradients, one layer", memory_of(layer.gradient_bytes),
                  fmt::format("{} parameters x {:g} B", parameters, scenario::bytes_of(precision.gradients)));
    writer.number("state, one layer, unsharded", memory_of(layer.state_bytes),
                  fmt::format("{} parameters x {:g} B (master weights and moments)", parameters,
                              precision.state_bytes_per_parameter));
  }
  writer.number("checkpoint, layer and micro-batch", memory_of(layer.checkpoint),
                "kept from forward to backward, by recompute", "Korthikanti et al., arXiv 2205.05198, section 4");
  writer.number("working set of one layer", memory_of(layer.working_set), "alive while it is computed",
                "arXiv 2205.05198, section 4");
}

/// Whole layers that a sharded rank holds for a while.
void write_sharding_buffers(Writer& writer, const Subject& subject) {
  const auto& sharding = subject.scenario.strategy.sharding;
  const auto& layer = subject.prepared.work.layer;
  if (sharding.level == scenario::ShardingLevel::kFull) {
    writer.number("weight buffers, at most", memory_of(layer.weight_bytes * sharding.weight_buffers),
                  fmt::format("{} whole layers x {}", sharding.weight_buffers, memory_of(layer.weight_bytes)),
                  "strategy.sharding");
  }
  if (sharding.level == scenario::ShardingLevel::kFull || sharding.level == scenario::ShardingLevel::kGradients) {
    writer.number("gradient buffers, at most", memory_of(layer.gradient_bytes * sharding.gradient_buffers),
                  fmt::format("{} whole layers x {}", sharding.gradient_buffers, memory_of(layer.gradient_bytes)),
                  "strategy.sharding");
  }
}

}  // namespace

void write_memory(Writer& writer, const Subject& subject) {
  const auto& prepared = subject.prepared;
  const auto& strategy = subject.scenario.strategy;
  writer.section("Memory of one device (pipeline rank 0)");
  write_per_layer(writer, subject);
  const auto& program = prepared.graph.programs.front();
  for (int i = 0; i < graph::kMemoryCategories; ++i) {
    const double bytes = program.initial_memory[i];
    const auto category = static_cast<graph::MemoryCategory>(i);
    if (bytes > 0) {
      writer.number(fmt::format("resident {}", graph::name_of(category)), memory_of(Bytes(bytes)),
                    resident_formula(category, strategy.sharding.level));
    }
  }
  write_sharding_buffers(writer, subject);
  const double alive = most_alive(subject);
  writer.number(
      "checkpoints at the schedule's peak", memory_of(prepared.work.layer.checkpoint * alive),
      fmt::format("{:.4g} layers of one micro-batch alive x {}{}", alive, memory_of(prepared.work.layer.checkpoint),
                  strategy.offload.checkpoints ? "; offloaded to host memory" : ""));
  writer.number("capacity", memory_of(subject.scenario.cluster.node.accelerator.memory), "memory of the accelerator",
                subject.scenario.cluster.node.accelerator.name);
}

}  // namespace lamina::explain
