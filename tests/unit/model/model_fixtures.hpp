#pragma once

#include <string>
#include <utility>

#include "sim/model/work.hpp"

/// Models and scenarios that several tests of sim/model share. Sizes are those of the papers named beside them.
namespace lamina::model {

inline scenario::Model gpt(int layers, std::int64_t hidden, std::int64_t heads, std::int64_t vocabulary = 51200,
                           std::int64_t sequence_length = 2048) {
  scenario::Model model;
  model.name = "gpt";
  model.layers = layers;
  model.hidden = hidden;
  model.sequence_length = sequence_length;
  model.heads = heads;
  model.key_value_heads = heads;
  model.head_size = hidden / heads;
  model.feed_forward = 4 * hidden;
  model.vocabulary = vocabulary;
  model.tied_embeddings = true;
  model.learned_positions = vocabulary > 0 ? sequence_length : 0;
  return model;
}

/// `batch` products of m x k by k x n, with results of 16 bits.
inline Kernel matrix_product(double batch, std::int64_t m, std::int64_t n, std::int64_t k, double operand_bytes = 2) {
  Kernel kernel;
  kernel.name = "product";
  kernel.batch = batch;
  kernel.m = m;
  kernel.n = n;
  kernel.k = k;
  kernel.row_lengths = n | k;
  const auto rows = static_cast<double>(m);
  const auto columns = static_cast<double>(n);
  const auto depth = static_cast<double>(k);
  kernel.flops = Flops(2 * batch * rows * columns * depth);
  kernel.bytes = Bytes(batch * (operand_bytes * (rows * depth + depth * columns) + 2 * rows * columns));
  return kernel;
}

/// arXiv 2005.14165, table 2.1, with Megatron's padded vocabulary.
inline scenario::Model gpt3_175b() {
  return gpt(96, 12288, 96);
}

/// X_x of arXiv 2106.02679: x layers, width x^2, sequence 16 x; no vocabulary.
inline scenario::Model family_x(int x) {
  const std::int64_t width = std::int64_t{x} * x;
  scenario::Model model = gpt(x, width, x / 2, 0, std::int64_t{16} * x);
  model.biases = false;
  return model;
}

/// The Llama 3 herd, arXiv 2407.21783, table 3: 8 key/value heads of size 128, vocabulary 128,256, untied.
inline scenario::Model llama3(int layers, std::int64_t hidden, std::int64_t heads, std::int64_t feed_forward) {
  scenario::Model model = gpt(layers, hidden, heads, 128256, 8192);
  model.name = "llama3";
  model.key_value_heads = 8;
  model.feed_forward = feed_forward;
  model.gated_mlp = true;
  model.tied_embeddings = false;
  model.learned_positions = 0;
  model.biases = false;
  return model;
}

inline scenario::Model llama3_8b() {
  return llama3(32, 4096, 32, 14336);
}

/// A100-SXM 80 GB (NVIDIA data sheet): 312 TFLOP/s in 16 bits, 2039 GB/s, 108 multiprocessors.
inline scenario::Accelerator a100() {
  scenario::Accelerator accelerator;
  accelerator.name = "a100-sxm-80gb";
  accelerator.peak = {{scenario::DataType::kFp32, FlopsPerSecond(19.5e12)},
                      {scenario::DataType::kTf32, FlopsPerSecond(156e12)},
                      {scenario::DataType::kFp16, FlopsPerSecond(312e12)},
                      {scenario::DataType::kBf16, FlopsPerSecond(312e12)}};
  accelerator.memory = Bytes(80e9);
  accelerator.memory_bandwidth = BytesPerSecond(2039e9);
  accelerator.multiprocessors = 108;
  return accelerator;
}

/// H100-SXM (NVIDIA data sheet, dense): 989 TFLOP/s in 16 bits, 1979 in 8, 3350 GB/s, 132 multiprocessors.
inline scenario::Accelerator h100() {
  scenario::Accelerator accelerator;
  accelerator.name = "h100-sxm";
  accelerator.peak = {{scenario::DataType::kBf16, FlopsPerSecond(989e12)},
                      {scenario::DataType::kFp8, FlopsPerSecond(1979e12)}};
  accelerator.memory_bandwidth = BytesPerSecond(3350e9);
  accelerator.multiprocessors = 132;
  return accelerator;
}

inline scenario::PluginChoice ideal(double fraction_of_peak = 1.0) {
  scenario::PluginChoice choice;
  choice.name = "ideal";
  choice.parameters.set_number("fraction_of_peak", fraction_of_peak);
  return choice;
}

/// The declared defaults: 5 us, 0.85, 128, 0.8, and a host that is never in the way.
inline scenario::PluginChoice roofline() {
  scenario::PluginChoice choice;
  choice.name = "roofline";
  choice.parameters.set_number("launch_floor", 5e-6);
  for (const char* thread : {"", "backward_"}) {
    for (const char* launch : {"launch_interval", "product_launch_interval", "collective_launch_interval"}) {
      choice.parameters.set_number(std::string(thread) + launch, 0);
    }
  }
  choice.parameters.set_number("matrix_efficiency", 0.85);
  choice.parameters.set_number("tile_depth", 128);
  choice.parameters.set_number("memory_efficiency", 0.8);
  return choice;
}

inline scenario::Scenario scenario_of(scenario::Model model, std::int64_t micro_batch = 1, int tensor_parallel = 1,
                                      bool sequence_parallel = false,
                                      scenario::Recompute recompute = scenario::Recompute::kNone) {
  scenario::Scenario scenario;
  scenario.model = std::move(model);
  scenario.cluster.node.accelerator = a100();
  scenario.strategy.micro_batch_size = micro_batch;
  scenario.strategy.tensor_parallel = tensor_parallel;
  scenario.strategy.sequence_parallel = sequence_parallel;
  scenario.strategy.recompute = recompute;
  scenario.simulation.cost_model = ideal();
  return scenario;
}

inline WorkModel work_of(const scenario::Scenario& scenario) {
  return work_model(scenario, cost_models());
}

inline double flops_of(const LayerCost& layer, Pass pass) {
  double sum = 0;
  for (const BlockCost& block : layer.blocks) {
    sum += block.pass(pass).flops.value();
  }
  return sum;
}

inline double seconds_of(const LayerCost& layer, Pass pass) {
  double sum = 0;
  for (const BlockCost& block : layer.blocks) {
    sum += block.pass(pass).duration.value();
  }
  return sum;
}

}  // namespace lamina::model
