#include <utility>

#include "sim/model/kernels.hpp"

namespace lamina::model {
namespace {

/// One of the products between activations, batched over sequences and heads. `reads` and `writes` are elements.
Kernel score_product(std::string name, const Shape& shape, std::int64_t n, std::int64_t k, double element_traffic) {
  Kernel kernel;
  kernel.name = std::move(name);
  kernel.batch = static_cast<double>(shape.micro_batch * shape.heads);
  kernel.m = shape.sequence;
  kernel.n = n;
  kernel.k = k;
  kernel.row_lengths = n | k;
  kernel.flops = Flops(2.0 * shape.score_elements() * static_cast<double>(shape.head_size) * shape.score_share);
  kernel.bytes = Bytes(shape.activation_bytes * element_traffic);
  kernel.type = wide_type(shape);
  return kernel;
}

struct AttentionElements {
  double query = 0;
  double key = 0;  ///< as many as value
  double scores = 0;
};

AttentionElements elements_of(const Shape& shape) {
  const auto tokens = static_cast<double>(shape.tokens);
  return {.query = tokens * static_cast<double>(shape.query_width()),
          .key = tokens * static_cast<double>(shape.key_value_width()),
          .scores = shape.score_elements()};
}

/// Bytes per score, beside those of the fused kernel, where Megatron-LM's scale, mask and softmax in one kernel cannot
/// be used (megatron/model/fused_softmax.py, forward_torch_softmax: 16 bits, softmax in fp32). Forward: cast 2 + 4,
/// scale 8, mask 8, softmax 8, cast 4 + 2; backward the same with 12 for the softmax.
constexpr double kSoftmaxPassesForward = 36;
constexpr double kSoftmaxPassesBackward = 40;
constexpr std::int64_t kScoresOfFusedSoftmax = 4;  // pairs of sequence and head that its thread blocks take

bool softmax_is_fused(const Shape& shape) {
  return shape.activation_bytes != 2 || shape.micro_batch * shape.heads % kScoresOfFusedSoftmax == 0;
}

/// Scale, mask and softmax of `fused` bytes per score, or the passes of `separate` bytes in all.
void add_softmax(std::vector<Kernel>& kernels, const Shape& shape, double fused, double separate) {
  const double scores = shape.score_elements();
  kernels.push_back(memory_bound("softmax", fused * scores));
  if (!softmax_is_fused(shape)) {
    kernels.push_back(memory_bound("softmax_passes", (separate - fused) * scores));
  }
}

constexpr double kForwardProducts = 2;   // QK^T and PV
constexpr double kBackwardProducts = 5;  // QK^T again (arXiv 2205.14135, section 3.1) and four gradients

/// All products of fused attention in one kernel: `products` of 2 b a s^2 d FLOPs each.
Kernel fused_kernel(std::string name, const Shape& shape, double products, double element_traffic) {
  Kernel kernel = score_product(std::move(name), shape, shape.head_size, shape.sequence, element_traffic);
  kernel.flops = kernel.flops * products;
  kernel.attention = FusedAttention{
      .kernel = shape.attention_kernel, .backward = products > kForwardProducts, .causal = shape.score_share < 1};
  kernel.bytes += Bytes(kStatisticsBytes * static_cast<double>(shape.tokens * shape.heads));
  return kernel;
}

/// QK^T, softmax, dropout, PV: what selective recomputation runs again.
std::vector<Kernel> core_forward(const Shape& shape) {
  if (!shape.scores) {
    return {};
  }
  const AttentionElements of = elements_of(shape);
  if (shape.fused) {
    return {fused_kernel("fused_attention", shape, kForwardProducts, 2 * of.query + 2 * of.key)};
  }
  std::vector<Kernel> kernels;
  kernels.push_back(
      score_product("attention_scores", shape, shape.sequence, shape.head_size, of.query + of.key + of.scores));
  add_softmax(kernels, shape, 2 * shape.activation_bytes, kSoftmaxPassesForward);
  if (shape.dropout) {
    kernels.push_back(memory_bound("attention_dropout", (2 * shape.activation_bytes + kMaskBytes) * of.scores));
  }
  kernels.push_back(
      score_product("attention_values", shape, shape.head_size, shape.sequence, of.scores + of.key + of.query));
  return kernels;
}

std::vector<Kernel> core_backward(const Shape& shape) {
  if (!shape.scores) {
    return {};
  }
  const AttentionElements of = elements_of(shape);
  if (shape.fused) {
    return {fused_kernel("fused_attention_backward", shape, kBackwardProducts, 4 * of.query + 4 * of.key)};
  }
  std::vector<Kernel> kernels;
  const double traffic = of.query + of.key + of.scores;
  kernels.push_back(score_product("probability_gradient", shape, shape.sequence, shape.head_size, traffic));
  kernels.push_back(score_product("value_gradient", shape, shape.head_size, shape.sequence, traffic));
  if (shape.dropout) {
    kernels.push_back(memory_bound("attention_dropout", (2 * shape.activation_bytes + kMaskBytes) * of.scores));
  }
  add_softmax(kernels, shape, 3 * shape.activation_bytes, kSoftmaxPassesBackward);
  kernels.push_back(score_product("query_gradient", shape, shape.head_size, shape.sequence, traffic));
  kernels.push_back(score_product("key_gradient", shape, shape.head_size, shape.sequence, traffic));
  return kernels;
}

void append(std::vector<Kernel>& list, std::vector<Kernel> more) {
  for (Kernel& kernel : more) {
    list.push_back(std::move(kernel));
  }
}

}  // namespace

BlockKernels attention_kernels(const Shape& shape, scenario::Recompute recompute) {
  const std::int64_t query_key_value = shape.query_width() + 2 * shape.key_value_width();
  const ParameterProduct qkv{"qkv", shape.tokens, query_key_value, shape.hidden, std::nullopt, true};
  const ParameterProduct projection{"attention_projection", shape.tokens, shape.hidden, shape.query_width()};
  const double resident = shape.activation_bytes * shape.resident_elements();
  const double mask = shape.dropout ? kMaskBytes * shape.resident_elements() : 0;
  const auto tokens = static_cast<double>(shape.tokens);
  const double rotated =
      2 * shape.activation_bytes * tokens * static_cast<double>(shape.query_width() + shape.key_value_width());
  const bool rotary = shape.rotary && shape.scores;

  BlockKernels block;
  block.name = "attention";
  std::vector<Kernel>& forward = block.of(Pass::kForward);
  forward.push_back(memory_bound("attention_norm", 2 * resident));
  add_forward(block, qkv, shape);
  if (rotary) {
    forward.push_back(memory_bound("rotary", rotated));
  }
  append(forward, core_forward(shape));
  add_forward(block, projection, shape);
  forward.push_back(memory_bound("attention_residual", 3 * resident + mask));

  std::vector<Kernel>& input_gradient = block.of(Pass::kInputGradient);
  std::vector<Kernel>& weight_gradient = block.of(Pass::kWeightGradient);
  if (shape.dropout) {
    input_gradient.push_back(memory_bound("attention_residual", 2 * resident + mask));
  }
  add_backward(block, projection, shape);
  append(input_gradient, core_backward(shape));
  if (rotary) {
    input_gradient.push_back(memory_bound("rotary", rotated));
  }
  add_backward(block, qkv, shape);
  input_gradient.push_back(memory_bound("attention_norm", 4 * resident));
  if (shape.biases && !shape.narrow) {  // the casts of fp8 sum them
    weight_gradient.push_back(memory_bound("attention_projection_bias", resident));
    weight_gradient.push_back(
        memory_bound("qkv_bias", shape.activation_bytes * tokens * static_cast<double>(query_key_value)));
  }
  weight_gradient.push_back(memory_bound("attention_norm", 2 * resident));

  if (recompute == scenario::Recompute::kFull) {
    block.of(Pass::kRecompute) = forward;
  } else if (recompute == scenario::Recompute::kSelective && !shape.fused) {
    block.of(Pass::kRecompute) = core_forward(shape);
  }
  return block;
}

}  // namespace lamina::model
