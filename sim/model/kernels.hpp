#pragma once

#include <array>
#include <string>
#include <vector>

#include "sim/model/shape.hpp"
#include "sim/model/work.hpp"

namespace lamina::model {

/// Kernels of one block by pass, in launch order.
struct BlockKernels {
  std::string name;
  std::array<std::vector<Kernel>, kPasses> passes;

  [[nodiscard]] std::vector<Kernel>& of(Pass pass) { return passes.at(static_cast<std::size_t>(pass)); }

  [[nodiscard]] const std::vector<Kernel>& of(Pass pass) const { return passes.at(static_cast<std::size_t>(pass)); }
};

/// A product with a weight matrix, y[m, n] = x[m, k] W[k, n].
struct ParameterProduct {
  std::string name;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::optional<scenario::DataType> type = std::nullopt;  ///< where it differs from the compute type
  bool after_norm = false;  ///< the norm before it writes its input, in fp8 where the product takes that
};

/// The three products of a weight matrix, each 2 m n k FLOPs: forward, dx = dy W^T, and dW += x^T dy, which reads and
/// writes the gradient buffer (or dW = x^T dy in the compute type, unless gradients are accumulated in the product).
[[nodiscard]] Kernel forward_product(const ParameterProduct& product, const Shape& shape);
[[nodiscard]] Kernel input_gradient_product(const ParameterProduct& product, const Shape& shape);
[[nodiscard]] Kernel weight_gradient_product(const ParameterProduct& product, const Shape& shape);

/// dW of `parameters` added to the gradient buffer by a kernel of its own.
[[nodiscard]] Kernel gradient_accumulation(double parameters, const Shape& shape);

/// Adds the three products to their passes of `block`. Under fp8 a cast precedes the forward and the input gradient, as
/// in NVIDIA Transformer Engine on Hopper, whose fp8 products read both operands along k: it reads 16 bits and writes
/// fp8 twice, once transposed for the weight gradient; behind a norm only the transposed copy is left to make.
void add_forward(BlockKernels& block, const ParameterProduct& product, const Shape& shape);
void add_backward(BlockKernels& block, const ParameterProduct& product, const Shape& shape);

/// Element-wise or row-wise work: no FLOPs are counted, as in the published FLOP formulas.
[[nodiscard]] Kernel memory_bound(std::string name, double bytes);

/// bf16 under fp8, otherwise the compute type: attention scores and logits.
[[nodiscard]] std::optional<scenario::DataType> wide_type(const Shape& shape);

/// Attention with its norm and residual; MLP with its norm and residual. `recompute` fills Pass::kRecompute.
[[nodiscard]] BlockKernels attention_kernels(const Shape& shape, scenario::Recompute recompute);
[[nodiscard]] BlockKernels mlp_kernels(const Shape& shape, scenario::Recompute recompute);

/// Token (and position) lookup; final norm, logits and cross entropy. Never recomputed.
[[nodiscard]] BlockKernels embedding_kernels(const Shape& shape);
[[nodiscard]] BlockKernels head_kernels(const Shape& shape);

/// Adam on `parameters`: optimizer state read and written, gradient read, weight written; unless fused, a second kernel
/// for the other passes of Megatron-LM's Float16OptimizerWithFloat16Params (megatron/core/optimizer): gradients cast to
/// fp32, unscaled under fp16, their norm, clipping, the buffer zeroed, master weights read for the copy to the model's.
[[nodiscard]] std::vector<Kernel> optimizer_kernels(double parameters, const scenario::Strategy& strategy);

}  // namespace lamina::model
