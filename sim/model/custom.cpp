#include "sim/model/custom.hpp"

#include <algorithm>

#include "sim/model/peak.hpp"

namespace lamina::model {
namespace {

PassCost share_of(Seconds duration, Flops flops, double share) {
  PassCost cost;
  cost.duration = duration * share;
  cost.flops = flops * share;
  return cost;
}

bool runs_again(const scenario::CustomModel& custom, const scenario::Strategy& strategy) {
  return strategy.recompute != scenario::Recompute::kNone && custom.recompute > Seconds(0);
}

BlockCost block_of(const scenario::CustomModel& custom, bool recomputed, std::string name, double share) {
  BlockCost block;
  block.name = std::move(name);
  block.forward = share_of(custom.forward, custom.flops, share);
  block.recompute = share_of(custom.recompute, recomputed ? custom.flops : Flops(0), share);
  block.input_gradient = share_of(custom.input_gradient, custom.flops, share);
  block.weight_gradient = share_of(custom.weight_gradient, custom.flops, share);
  block.tensor_payload = custom.tensor_message;
  return block;
}

LayerCost layer_of(const scenario::CustomModel& custom, const scenario::Strategy& strategy) {
  const bool recomputed = runs_again(custom, strategy);
  LayerCost layer;
  layer.name = "layer";
  if (custom.tensor_message > Bytes(0)) {  // two synchronisations per layer and pass: two halves
    layer.blocks.push_back(block_of(custom, recomputed, "first_half", 0.5));
    layer.blocks.push_back(block_of(custom, recomputed, "second_half", 0.5));
  } else {
    layer.blocks.push_back(block_of(custom, recomputed, "layer", 1.0));
  }
  layer.parameters = custom.parameters.value() / scenario::bytes_of(strategy.precision.weights);
  layer.weight_bytes = custom.parameters;
  layer.gradient_bytes = Bytes(layer.parameters * scenario::bytes_of(strategy.precision.gradients));
  layer.state_bytes = custom.state;
  layer.checkpoint = custom.checkpoint;
  layer.working_set = custom.working_set;
  // Nothing is known of the operands: all stays from the input to the weight gradient.
  layer.weight_gradient_operands = strategy.recompute == scenario::Recompute::kFull
                                       ? custom.checkpoint + custom.working_set
                                       : std::max(custom.checkpoint, custom.working_set);
  layer.update = custom.update;
  return layer;
}

}  // namespace

WorkModel custom_work(const scenario::Scenario& scenario) {
  const scenario::CustomModel& custom = scenario.model.custom.value();
  const scenario::Strategy& strategy = scenario.strategy;
  const double ranks = strategy.tensor_parallel;
  WorkModel work;
  work.layer = layer_of(custom, strategy);
  work.layers = scenario.model.layers;
  work.message = custom.message;  // of one rank, as measured: lowering does not slice it
  work.parameters = work.layer.parameters * ranks * work.layers;
  work.cost_model = "custom durations";
  const double tokens =
      static_cast<double>(strategy.micro_batch_size) * static_cast<double>(scenario.model.sequence_length);
  if (custom.flops > Flops(0) && tokens > 0) {
    const Flops forward = custom.flops * (ranks * work.layers / tokens);
    const bool recomputed = runs_again(custom, strategy);
    work.model_flops_per_token = forward * 3;
    work.hardware_flops_per_token = forward * (recomputed ? 4.0 : 3.0);
    work.peak = peak_of(scenario.cluster.node.accelerator, strategy.precision.compute);
  }
  return work;
}

}  // namespace lamina::model
