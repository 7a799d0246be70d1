#include "sim/model/launches.hpp"

#include <array>
#include <string_view>

namespace lamina::model {
namespace {

/// What the launches beside a kernel's own copy, read and written once: nothing worth counting, a rank's queries (or as
/// much), its queries, keys and values, or the residual stream.
enum class Copied { kNothing, kQueries, kQueriesKeysValues, kResidual };

struct Extra {
  std::string_view kernel;
  Pass pass = Pass::kForward;
  int launches = 0;
  Copied copied = Copied::kNothing;
};

constexpr std::array kExtras = {
    Extra{"attention_values", Pass::kForward, 1, Copied::kQueries},  // heads back into the hidden dimension
    Extra{"fused_attention", Pass::kForward, 1},                     // the same, where the kernel does not write it so
    Extra{"attention_dropout", Pass::kForward, 1},                   // generator state of the tensor group
    Extra{"softmax_passes", Pass::kForward, 3},        // casts, scale, mask, softmax; the last is "softmax"
    Extra{"softmax_passes", Pass::kInputGradient, 3},  // the same
    Extra{"swiglu", Pass::kForward, 1},                // halves, product
    Extra{"rotary", Pass::kForward, 3},                // halves of queries and of keys
    Extra{"qkv", Pass::kInputGradient, 4, Copied::kQueriesKeysValues},    // three gradients and their concatenation
    Extra{"attention_projection", Pass::kInputGradient, 1},               // hidden dimension into heads
    Extra{"value_gradient", Pass::kInputGradient, 0, Copied::kQueries},   // whose copy that is
    Extra{"query_gradient", Pass::kInputGradient, 1, Copied::kQueries},   // scale
    Extra{"key_gradient", Pass::kInputGradient, 1, Copied::kQueries},     // scale
    Extra{"attention_residual", Pass::kInputGradient, 1},                 // gradient of the bias inside
    Extra{"mlp_residual", Pass::kInputGradient, 1},                       // the same
    Extra{"attention_norm", Pass::kInputGradient, 1, Copied::kResidual},  // gradient of the residual stream
    Extra{"mlp_norm", Pass::kInputGradient, 1, Copied::kResidual},        // the same
    Extra{"rotary", Pass::kInputGradient, 3},                             // as forward
    Extra{"swiglu", Pass::kInputGradient, 1},                             // as forward
    Extra{"attention_norm", Pass::kWeightGradient, 3},  // two stages of the sum; weight and bias accumulated
    Extra{"mlp_norm", Pass::kWeightGradient, 3},        // the same
    Extra{"final_norm", Pass::kWeightGradient, 3},      // the same
};

double copied_elements(Copied copied, const Shape& shape) {
  const auto tokens = static_cast<double>(shape.tokens);
  switch (copied) {
    case Copied::kQueries:
      return tokens * static_cast<double>(shape.query_width());
    case Copied::kQueriesKeysValues:  // cuDNN's kernel writes the three gradients side by side
      return shape.fused && shape.attention_kernel == scenario::AttentionKernel::kCudnn
                 ? 0
                 : tokens * static_cast<double>(shape.query_width() + 2 * shape.key_value_width());
    case Copied::kResidual:
      return shape.resident_elements();
    case Copied::kNothing:
      break;
  }
  return 0;
}

/// Maximum, its all-reduce, exponents, their sum and so on (megatron/core/tensor_parallel/cross_entropy.py).
constexpr int kCrossEntropyPassesForward = 11;
constexpr int kCrossEntropyPassesBackward = 3;
constexpr int kLaunchesOfMetric = 3;  // cast, logarithm of the softmax, loss

}  // namespace

void count_launches(Kernel& kernel, Pass pass, const Shape& shape, scenario::Recompute recompute) {
  int launches = 1;
  double copied = 0;
  const bool forward = pass == Pass::kForward || pass == Pass::kRecompute;
  for (const Extra& extra : kExtras) {
    if (extra.kernel == kernel.name && extra.pass == (forward ? Pass::kForward : pass)) {
      launches += extra.launches;
      copied += copied_elements(extra.copied, shape);
    }
  }
  if (kernel.name == "cross_entropy_passes") {
    launches = forward ? kCrossEntropyPassesForward : kCrossEntropyPassesBackward;
  }
  if (kernel.name == "logit_metrics") {
    launches = kLaunchesOfMetric * shape.logit_metrics;
  }
  if (kernel.name == "qkv" && forward && shape.biases) {
    ++launches;  // the only bias that no fused kernel adds
  }
  const bool is_bias = kernel.name.ends_with("_bias");
  if (pass == Pass::kWeightGradient && (is_bias || (kernel.name == "embedding_lookup" && shape.fused_gradients))) {
    ++launches;  // accumulated into the gradient buffer; products do it themselves or have a kernel for it
  }
  if (kernel.name == "attention_norm" && forward && recompute == scenario::Recompute::kFull) {
    launches += pass == Pass::kForward ? 1 : 2;  // generator states: saved; saved, set and restored
  }
  kernel.launches = launches;
  kernel.copied = Bytes(2 * shape.activation_bytes * copied);
}

}  // namespace lamina::model
