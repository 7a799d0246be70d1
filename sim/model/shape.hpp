#pragma once

#include <cstdint>

#include "sim/scenario/scenario.hpp"

namespace lamina::model {

inline constexpr double kMaskBytes = 1;  ///< of a dropped element (Korthikanti et al., arXiv 2205.05198, section 4)
inline constexpr double kLossBytes = 4;  ///< the softmax of the loss is fp32 (same, section 4.3)
inline constexpr double kStatisticsBytes = 4;  ///< log-sum-exp of a row of scores, kept by fused attention

/// What one tensor rank holds of a model, for one micro-batch: the sizes that kernels, activations and parameters are
/// computed from. Heads, MLP width and vocabulary are split over the t tensor ranks (Shoeybi et al., arXiv 1909.08053).
struct Shape {
  std::int64_t micro_batch = 0;  ///< b, sequences
  std::int64_t sequence = 0;     ///< s, tokens
  std::int64_t tokens = 0;       ///< b s: rows of the matrix products
  std::int64_t resident_tokens =
      0;                    ///< rows of norms, dropout and residual: b s / t under sequence parallelism, else b s
  std::int64_t hidden = 0;  ///< h
  std::int64_t heads = 0;   ///< a / t
  std::int64_t key_value_heads = 0;  ///< of this rank; one (replicated) when the model has fewer than t
  std::int64_t head_size = 0;        ///< d
  std::int64_t feed_forward = 0;     ///< f / t
  std::int64_t vocabulary = 0;       ///< V / t, rounded up; 0: no embedding and no head
  std::int64_t positions = 0;        ///< rows of the learned position embedding
  bool tensor_split = false;         ///< t > 1
  bool gated = false;                ///< SwiGLU: three MLP matrices
  bool dropout = false;              ///< non-gated (GPT-style) models train with dropout; gated ones without
  bool biases = false;               ///< biases on matrices, LayerNorm with bias; otherwise RMSNorm
  bool rotary = false;               ///< no learned positions: queries and keys are rotated
  bool tied = false;                 ///< the head uses the embedding's matrix
  bool scores = true;                ///< QK^T, softmax and PV are computed (and counted)
  bool fused = false;                ///< scores never reach device memory
  scenario::AttentionKernel attention_kernel = scenario::AttentionKernel::kFlashAttention2;  ///< when fused
  bool fused_gradients = true;       ///< products of weight gradients add to the gradient buffer
  bool fused_loss = true;            ///< one kernel each way
  int logit_metrics = 0;             ///< cross entropies beside the loss
  double score_share = 1;            ///< of the s x s square that is computed: 0.5 when causal_half
  double operand_bytes = 2;          ///< element read by a matrix product
  double activation_bytes = 2;       ///< element stored, sent, or written: 2 for fp8 as well
  double weight_gradient_bytes = 2;  ///< element of a gradient buffer
  bool narrow = false;               ///< fp8: attention and logits fall back to bf16

  [[nodiscard]] std::int64_t query_width() const { return heads * head_size; }

  [[nodiscard]] std::int64_t key_value_width() const { return key_value_heads * head_size; }

  /// Elements of the attention scores of this rank: b a/t s s, the whole square.
  [[nodiscard]] double score_elements() const;
  /// Elements of the residual stream kept by this rank.
  [[nodiscard]] double resident_elements() const;
};

/// Bytes of one stored activation: as the compute type, except 2 for fp8 (operands are cast on the way into the
/// product).
[[nodiscard]] double activation_bytes_of(scenario::DataType compute);

/// Shape of one rank of `tensor_parallel`. Throws error::ScenarioError when heads, key/value heads, MLP width or
/// (sequence parallel) the sequence do not divide.
[[nodiscard]] Shape shape_of(const scenario::Model& model, const scenario::Strategy& strategy, bool attention_scores,
                             int tensor_parallel, bool sequence_parallel);

}  // namespace lamina::model
