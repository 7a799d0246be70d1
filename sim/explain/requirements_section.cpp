#include <string>

#include <fmt/format.h>

#include "sim/explain/members.hpp"
#include "sim/explain/sections.hpp"

namespace lamina::explain {
namespace {

Seconds duration_of(const model::LayerCost& layer, bool forward) {
  Seconds sum;
  for (const model::BlockCost& block : layer.blocks) {
    sum += forward ? block.forward.duration
                   : block.recompute.duration + block.input_gradient.duration + block.weight_gradient.duration;
  }
  return sum;
}

void require(Writer& writer, const std::string& name, Bytes bytes, Seconds time, const std::string& formula) {
  if (bytes.value() > 0 && time.value() > 0) {
    writer.number(name, text_of(BytesPerSecond(bytes.value() / time.value())),
                  fmt::format("{} = {} / {}", formula, text_of(bytes), text_of(time)));
  }
}

struct Times {
  Seconds forward;   ///< of one layer and micro-batch
  Seconds backward;  ///< with recomputation
};

void require_pipeline(Writer& writer, const Subject& subject, const Times& layer) {
  const auto& strategy = subject.scenario.strategy;
  if (strategy.pipeline_parallel < 2) {
    return;
  }
  const bool sliced = strategy.sliced_sends || strategy.sequence_parallel;
  const Bytes message = subject.prepared.work.message / (sliced ? strategy.tensor_parallel : 1);
  const double layers = cut_of(subject.scenario, subject.prepared.table).layers_per_stage;
  require(writer, "pipeline, forward", message, layer.forward * layers, "message / forward of one stage");
  require(writer, "pipeline, backward", message, layer.backward * layers, "message / backward of one stage");
}

void require_data(Writer& writer, const Subject& subject, const Times& layer) {
  const auto& strategy = subject.scenario.strategy;
  if (strategy.data_parallel < 2) {
    return;
  }
  const double share = (strategy.data_parallel - 1.0) / strategy.data_parallel;
  const double micro_batches = strategy.micro_batches;
  const Bytes gradients = subject.prepared.work.layer.gradient_bytes * share;
  const Bytes weights = subject.prepared.work.layer.weight_bytes * share;
  const Times all{layer.forward * micro_batches, layer.backward * micro_batches};
  if (strategy.sharding.level == scenario::ShardingLevel::kFull) {
    require(writer, "sharded, layered, forward", weights, all.forward,
            "restore / forward of a layer, all micro-batches");
    require(writer, "sharded, layered, backward", weights + gradients, all.backward,
            "(restore + reduce) / backward of a layer, all micro-batches");
    require(writer, "sharded, per micro-batch, forward", weights, layer.forward, "the same for one micro-batch");
    require(writer, "sharded, per micro-batch, backward", weights + gradients, layer.backward,
            "the same for one micro-batch");
    return;
  }
  const bool sharded = strategy.sharding.level != scenario::ShardingLevel::kNone;
  const Bytes reduced = sharded ? gradients : gradients * 2;  // an all-reduce is a reduce-scatter and an all-gather
  require(writer, "reduce, layered", reduced, all.backward,
          fmt::format("{} / backward of a layer, all micro-batches", sharded ? "reduce-scatter" : "all-reduce"));
  require(writer, "reduce, after the last micro-batch", reduced, layer.backward, "the same for one micro-batch");
}

}  // namespace

void write_requirements(Writer& writer, const Subject& subject) {
  const auto& strategy = subject.scenario.strategy;
  if (strategy.ranks() == strategy.tensor_parallel) {
    return;  // nothing leaves the tensor group
  }
  const auto& layer = subject.prepared.work.layer;
  const Times times{duration_of(layer, true), duration_of(layer, false)};
  writer.section("Bandwidth that hides the traffic, per rank and direction");
  writer.text(
      "closed forms: neighbouring compute lasts as long as the transfer; lamina run shows what contention adds");
  writer.text("with ideal kernels a modular pipeline of one layer per stage needs C / (12 h), C = FLOP/s per device");
  require_pipeline(writer, subject, times);
  require_data(writer, subject, times);
  const auto& network = subject.scenario.cluster.network;
  const auto& node = subject.scenario.cluster.node;
  if (node.nics > 0 && node.devices > 0) {
    const double ports = static_cast<double>(node.nics) / node.devices;
    writer.number("the network gives", text_of(network.bandwidth * (network.efficiency * ports)),
                  fmt::format("{} x efficiency {:g} x {} ports / {} devices", text_of(network.bandwidth),
                              network.efficiency, node.nics, node.devices),
                  network.name);
  }
}

}  // namespace lamina::explain
