// The two ends of a model: embedding and head.
#include "sim/model/kernels.hpp"

namespace lamina::model {
namespace {

/// Bytes per logit that Megatron-LM's vocabulary-parallel cross entropy moves beside reading the logits and writing the
/// fp32 softmax (megatron/core/tensor_parallel/cross_entropy.py). Forward: maximum (a read), difference, exponents and
/// quotient in place, each read and written, their sum (a read). Backward: scaled by the loss' gradient in place.
constexpr double kLossPassesForward = (1 + 2 + 2 + 1 + 2) * kLossBytes;
constexpr double kLossPassesBackward = 2 * kLossBytes;

/// Bytes per logit of torch.nn.functional.cross_entropy without gradients under autocast: cast to fp32 unless they are,
/// logarithm of the softmax (a row of it stays in the cache between its passes).
double metric_traffic(const Shape& shape) {
  const double cast = shape.activation_bytes < kLossBytes ? shape.activation_bytes + kLossBytes : 0;
  return cast + 2 * kLossBytes;
}

}  // namespace

BlockKernels embedding_kernels(const Shape& shape) {
  const double hidden = static_cast<double>(shape.hidden);
  const double output = static_cast<double>(shape.tokens) * hidden;
  const double resident = shape.resident_elements();
  BlockKernels block;
  block.name = "embedding";
  std::vector<Kernel>& forward = block.of(Pass::kForward);
  forward.push_back(memory_bound("embedding_lookup", 2 * shape.activation_bytes * output));
  if (shape.positions > 0) {
    forward.push_back(memory_bound("position_embedding", 3 * shape.activation_bytes * resident));
  }
  std::vector<Kernel>& weight_gradient = block.of(Pass::kWeightGradient);
  if (shape.dropout) {
    const double traffic = (2 * shape.activation_bytes + kMaskBytes) * resident;
    forward.push_back(memory_bound("embedding_dropout", traffic));
    weight_gradient.push_back(memory_bound("embedding_dropout", traffic));
  }
  weight_gradient.push_back(
      memory_bound("embedding_lookup", (shape.activation_bytes + 2 * shape.weight_gradient_bytes) * output));
  if (!shape.fused_gradients) {
    const double parameters = static_cast<double>(shape.vocabulary) * hidden;
    weight_gradient.push_back(gradient_accumulation(parameters, shape));
  }
  return block;
}

BlockKernels head_kernels(const Shape& shape) {
  const ParameterProduct logits{"logits", shape.tokens, shape.vocabulary, shape.hidden, wide_type(shape)};
  const double resident = shape.activation_bytes * shape.resident_elements();
  const double scores = static_cast<double>(shape.tokens) * static_cast<double>(shape.vocabulary);
  const double loss_traffic = (shape.activation_bytes + kLossBytes) * scores;
  BlockKernels block;
  block.name = "head";
  std::vector<Kernel>& forward = block.of(Pass::kForward);
  forward.push_back(memory_bound("final_norm", 2 * resident));
  add_forward(block, logits, shape);
  forward.push_back(memory_bound("cross_entropy", loss_traffic));
  if (shape.logit_metrics > 0) {
    forward.push_back(memory_bound("logit_metrics", shape.logit_metrics * metric_traffic(shape) * scores));
  }
  std::vector<Kernel>& input_gradient = block.of(Pass::kInputGradient);
  if (!shape.fused_loss) {
    forward.push_back(memory_bound("cross_entropy_passes", kLossPassesForward * scores));
    input_gradient.push_back(memory_bound("cross_entropy_passes", kLossPassesBackward * scores));
  }
  input_gradient.push_back(memory_bound("cross_entropy", loss_traffic));
  add_backward(block, logits, shape);
  input_gradient.push_back(memory_bound("final_norm", 3 * resident));
  block.of(Pass::kWeightGradient).push_back(memory_bound("final_norm", 2 * resident));
  return block;
}

}  // namespace lamina::model
