#include "sim/model/kernels.hpp"

namespace lamina::model {

BlockKernels mlp_kernels(const Shape& shape, scenario::Recompute recompute) {
  const std::int64_t up_width = (shape.gated ? 2 : 1) * shape.feed_forward;
  const ParameterProduct up{"mlp_up", shape.tokens, up_width, shape.hidden, std::nullopt, true};
  const ParameterProduct down{"mlp_down", shape.tokens, shape.hidden, shape.feed_forward};
  const double resident = shape.activation_bytes * shape.resident_elements();
  const double mask = shape.dropout ? kMaskBytes * shape.resident_elements() : 0;
  const double inner =
      shape.activation_bytes * static_cast<double>(shape.tokens) * static_cast<double>(shape.feed_forward);
  const char* activation = shape.gated ? "swiglu" : "gelu";

  BlockKernels block;
  block.name = "mlp";
  std::vector<Kernel>& forward = block.of(Pass::kForward);
  forward.push_back(memory_bound("mlp_norm", 2 * resident));
  add_forward(block, up, shape);
  forward.push_back(memory_bound(activation, (shape.gated ? 3 : 2) * inner));  // gate and up (or x) in, product out
  add_forward(block, down, shape);
  forward.push_back(memory_bound("mlp_residual", 3 * resident + mask));

  std::vector<Kernel>& input_gradient = block.of(Pass::kInputGradient);
  std::vector<Kernel>& weight_gradient = block.of(Pass::kWeightGradient);
  if (shape.dropout) {
    input_gradient.push_back(memory_bound("mlp_residual", 2 * resident + mask));
  }
  add_backward(block, down, shape);
  input_gradient.push_back(memory_bound(activation, (shape.gated ? 5 : 3) * inner));
  add_backward(block, up, shape);
  input_gradient.push_back(memory_bound("mlp_norm", 4 * resident));  // dy, x and the residual's gradient in, dx out
  if (shape.biases && !shape.narrow) {                               // the casts of fp8 sum them
    weight_gradient.push_back(memory_bound("mlp_down_bias", resident));
    weight_gradient.push_back(memory_bound("mlp_up_bias", (shape.gated ? 2 : 1) * inner));
  }
  weight_gradient.push_back(memory_bound("mlp_norm", 2 * resident));

  if (recompute == scenario::Recompute::kFull) {
    block.of(Pass::kRecompute) = forward;
  }
  return block;
}

}  // namespace lamina::model
