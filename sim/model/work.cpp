#include "sim/model/work.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "sim/error/error.hpp"
#include "sim/model/activations.hpp"
#include "sim/model/custom.hpp"
#include "sim/model/kernels.hpp"
#include "sim/model/launches.hpp"
#include "sim/model/parameter_count.hpp"
#include "sim/model/peak.hpp"
#include "sim/model/shape.hpp"

namespace lamina::model {
namespace {

/// A cost model with what it needs to price a kernel.
struct Pricing {
  const CostModel& cost_model;
  const scenario::Accelerator& accelerator;
  scenario::DataType compute;
  const catalog::Parameters& parameters;
  scenario::Recompute recompute;

  [[nodiscard]] Seconds of(const Kernel& kernel) const {
    return cost_model.time(kernel, accelerator, kernel.type.value_or(compute), parameters);
  }

  [[nodiscard]] LaunchIntervals launch_intervals(bool backward) const {
    return cost_model.launch_intervals(backward, parameters);
  }
};

/// Seconds that the host takes for all launches of a kernel of the model.
double launching(const Kernel& kernel, const LaunchIntervals& intervals) {
  const Seconds own = kernel.kind == KernelKind::kMatrixProduct ? intervals.product : intervals.kernel;
  return own.value() + (kernel.launches - 1) * intervals.kernel.value();
}

PassCost cost_of(std::vector<Kernel> kernels, Pass pass, const Pricing& pricing) {
  const LaunchIntervals intervals =
      pricing.launch_intervals(pass == Pass::kInputGradient || pass == Pass::kWeightGradient);
  PassCost cost;
  units::LaunchTime time;
  for (const Kernel& kernel : kernels) {
    time += units::LaunchTime::of(pricing.of(kernel).value(), launching(kernel, intervals));
    cost.flops += kernel.flops;
    cost.bytes += kernel.bytes;
  }
  cost.duration = Seconds(time.device_s);
  cost.host = Seconds(time.host_s);
  cost.tail = Seconds(time.tail_s);
  cost.kernels = std::move(kernels);
  return cost;
}

BlockCost cost_of(BlockKernels block, const Shape& shape, const Pricing& pricing) {
  for (const Pass pass : {Pass::kForward, Pass::kRecompute, Pass::kInputGradient, Pass::kWeightGradient}) {
    for (Kernel& kernel : block.of(pass)) {
      count_launches(kernel, pass, shape, pricing.recompute);
    }
  }
  BlockCost cost;
  cost.name = block.name;
  cost.forward = cost_of(std::move(block.of(Pass::kForward)), Pass::kForward, pricing);
  cost.recompute = cost_of(std::move(block.of(Pass::kRecompute)), Pass::kRecompute, pricing);
  cost.input_gradient = cost_of(std::move(block.of(Pass::kInputGradient)), Pass::kInputGradient, pricing);
  cost.weight_gradient = cost_of(std::move(block.of(Pass::kWeightGradient)), Pass::kWeightGradient, pricing);
  if (shape.tensor_split) {
    cost.tensor_payload =
        Bytes(shape.activation_bytes * static_cast<double>(shape.tokens) * static_cast<double>(shape.hidden));
  }
  return cost;
}

void set_storage(LayerCost& layer, double parameters, const scenario::Strategy& strategy, const Pricing& pricing) {
  const scenario::Precision& precision = strategy.precision;
  layer.parameters = parameters;
  layer.weight_bytes = Bytes(parameters * scenario::bytes_of(precision.weights));
  layer.gradient_bytes = Bytes(parameters * scenario::bytes_of(precision.gradients));
  layer.state_bytes = Bytes(parameters * precision.state_bytes_per_parameter);
  for (const Kernel& kernel : optimizer_kernels(parameters, strategy)) {
    layer.update += pricing.of(kernel);
  }
}

Bytes layer_checkpoint(const Shape& shape, scenario::Recompute recompute) {
  switch (recompute) {
    case scenario::Recompute::kNone:
      return total(layer_activations(shape));
    case scenario::Recompute::kSelective:
      return total(layer_activations(shape), false);
    case scenario::Recompute::kFull:
      return Bytes(shape.activation_bytes * shape.resident_elements());
  }
  throw error::InternalError("unknown kind of recomputation");
}

LayerCost transformer_layer(const Shape& shape, const scenario::Strategy& strategy, double parameters,
                            const Pricing& pricing) {
  LayerCost layer;
  layer.name = "layer";
  layer.blocks.push_back(cost_of(attention_kernels(shape, strategy.recompute), shape, pricing));
  layer.blocks.push_back(cost_of(mlp_kernels(shape, strategy.recompute), shape, pricing));
  set_storage(layer, parameters, strategy, pricing);
  layer.checkpoint = layer_checkpoint(shape, strategy.recompute);
  layer.working_set = total(layer_activations(shape));
  layer.weight_gradient_operands = total(layer_weight_gradient_operands(shape));
  return layer;
}

/// What an end keeps from forward to backward, and from the input to the weight gradient.
struct EndMemory {
  Bytes activations;
  Bytes weight_gradient_operands;
};

LayerCost end_layer(BlockKernels block, const EndMemory& memory, const Shape& shape, const scenario::Strategy& strategy,
                    double parameters, const Pricing& pricing) {
  LayerCost layer;
  layer.name = block.name;
  layer.blocks.push_back(cost_of(std::move(block), shape, pricing));
  set_storage(layer, parameters, strategy, pricing);
  layer.checkpoint = memory.activations;
  layer.working_set = layer.checkpoint;
  layer.weight_gradient_operands = memory.weight_gradient_operands;
  return layer;
}

Flops flops_of(const BlockKernels& block, Pass pass) {
  Flops sum;
  for (const Kernel& kernel : block.of(pass)) {
    sum += kernel.flops;
  }
  return sum;
}

/// FLOPs of the whole model per token: a layer of one unsplit rank, times the layers, plus the head. Model FLOPs are
/// three times the forward, whatever is recomputed.
void set_flops_per_token(WorkModel& work, const Shape& unsplit, scenario::Recompute recompute) {
  const double per_token = 1.0 / static_cast<double>(unsplit.tokens);
  const auto add = [&](const BlockKernels& block, double times) {
    work.model_flops_per_token += flops_of(block, Pass::kForward) * (3 * times * per_token);
    for (const Pass pass : {Pass::kForward, Pass::kRecompute, Pass::kInputGradient, Pass::kWeightGradient}) {
      work.hardware_flops_per_token += flops_of(block, pass) * (times * per_token);
    }
  };
  add(attention_kernels(unsplit, recompute), work.layers);
  add(mlp_kernels(unsplit, recompute), work.layers);
  if (unsplit.vocabulary > 0) {
    add(head_kernels(unsplit), 1);
  }
}

std::string describe(const scenario::PluginChoice& choice) {
  std::string text;
  for (const auto& [name, value] : choice.parameters.numbers()) {
    text += fmt::format("{}{} = {:g}", text.empty() ? "" : ", ", name, value);
  }
  for (const auto& [name, value] : choice.parameters.choices()) {
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", name, value);
  }
  return text.empty() ? choice.name : fmt::format("{} ({})", choice.name, text);
}

const CostModel& find_cost_model(const scenario::Simulation& simulation, const catalog::Catalog<CostModel>& known) {
  const auto* entry = known.find(simulation.cost_model.name);
  if (entry != nullptr) {
    return *entry->implementation;
  }
  std::vector<std::string> names;
  std::string allowed;
  for (const catalog::PluginInfo& info : known.infos()) {
    names.push_back(info.name);
    allowed += (allowed.empty() ? "" : ", ") + info.name;
  }
  error::ScenarioFault fault;
  fault.key = "simulation.cost_model";
  fault.problem = fmt::format("There is no cost model '{}'.", simulation.cost_model.name);
  fault.read = simulation.cost_model.name;
  fault.allowed = allowed;
  fault.nearest = catalog::nearest_name(simulation.cost_model.name, names);
  throw error::ScenarioError(std::move(fault));
}

}  // namespace

const PassCost& BlockCost::pass(Pass which) const {
  switch (which) {
    case Pass::kForward:
      return forward;
    case Pass::kRecompute:
      return recompute;
    case Pass::kInputGradient:
      return input_gradient;
    case Pass::kWeightGradient:
      return weight_gradient;
  }
  throw error::InternalError("unknown pass");
}

WorkModel work_model(const scenario::Scenario& scenario, const catalog::Catalog<CostModel>& cost_models) {
  if (scenario.model.custom.has_value()) {
    return custom_work(scenario);
  }
  const scenario::Model& model = scenario.model;
  const scenario::Strategy& strategy = scenario.strategy;
  const scenario::Simulation& simulation = scenario.simulation;
  const scenario::Accelerator& accelerator = scenario.cluster.node.accelerator;
  const Pricing pricing{find_cost_model(simulation, cost_models), accelerator, strategy.precision.compute,
                        simulation.cost_model.parameters, strategy.recompute};
  const Shape shape =
      shape_of(model, strategy, simulation.attention_scores, strategy.tensor_parallel, strategy.sequence_parallel);
  const Shape unsplit = shape_of(model, strategy, simulation.attention_scores, 1, false);
  const ParameterCount of_rank = parameters_of_rank(model, strategy);
  const ParameterCount of_model = parameters_of_model(model);

  WorkModel work;
  work.layers = model.layers;
  work.layer = transformer_layer(shape, strategy, of_rank.layer, pricing);
  work.embedding.name = "embedding";
  work.head.name = "head";
  if (model.vocabulary > 0) {
    const EndMemory embedding{total(embedding_activations(shape)), total(embedding_weight_gradient_operands(shape))};
    const EndMemory head{total(head_activations(shape)), total(head_weight_gradient_operands(shape))};
    work.embedding = end_layer(embedding_kernels(shape), embedding, shape, strategy, of_rank.embedding, pricing);
    work.head = end_layer(head_kernels(shape), head, shape, strategy, of_rank.head, pricing);
  }
  work.message = Bytes(shape.activation_bytes * static_cast<double>(shape.tokens) * static_cast<double>(shape.hidden));
  work.parameters = of_model.embedding + of_model.layer * model.layers + of_model.head;
  work.peak = peak_of(accelerator, strategy.precision.compute);
  work.forward_launches = pricing.launch_intervals(false);
  work.backward_launches = pricing.launch_intervals(true);
  work.cost_model = describe(simulation.cost_model);
  set_flops_per_token(work, unsplit, strategy.recompute);
  return work;
}

}  // namespace lamina::model
