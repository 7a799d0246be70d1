#pragma once

#include <string>
#include <vector>

#include "sim/model/shape.hpp"
#include "sim/units/quantity.hpp"

namespace lamina::model {

/// Bytes that one operation keeps for its backward, per rank, layer and micro-batch.
struct ActivationTerm {
  std::string name;
  Bytes bytes;
  bool score = false;  ///< part of the 5 a s / h term, which selective recomputation drops
};

/// What a transformer layer keeps, operation by operation (Korthikanti et al., arXiv 2205.05198, section 4). For a GPT
/// in 16 bits the sum is s b h (34 + 5 a s / h); under tensor parallelism s b h (10 + 24 / t + 5 a s / (h t)), with
/// sequence parallelism the first one / t. Scores are kept whether or not their FLOPs are counted; fused attention
/// keeps only the statistics of its rows.
[[nodiscard]] std::vector<ActivationTerm> layer_activations(const Shape& shape);

/// Dropout mask of the embedding (GPT-style), and norm input, projection input and fp32 logits of the head
/// (section 4.3); without a fused loss also the logits in the compute type, which are there beside the softmax when the
/// forward pass ends, and their gradient when the backward pass starts (Megatron-LM, core/tensor_parallel/
/// cross_entropy.py).
[[nodiscard]] std::vector<ActivationTerm> embedding_activations(const Shape& shape);
[[nodiscard]] std::vector<ActivationTerm> head_activations(const Shape& shape);

/// What stays from the input gradient to the weight gradient: inputs and output gradients of the matrix products (32 s
/// b h for a GPT in 16 bits; Qi et al., arXiv 2401.10241, section 2: M_W).
[[nodiscard]] std::vector<ActivationTerm> layer_weight_gradient_operands(const Shape& shape);
[[nodiscard]] std::vector<ActivationTerm> embedding_weight_gradient_operands(const Shape& shape);
[[nodiscard]] std::vector<ActivationTerm> head_weight_gradient_operands(const Shape& shape);

/// Sum of the terms; without the score part when `with_scores` is false.
[[nodiscard]] Bytes total(const std::vector<ActivationTerm>& terms, bool with_scores = true);

}  // namespace lamina::model
