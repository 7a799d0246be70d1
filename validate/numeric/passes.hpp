#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "validate/numeric/decoder.hpp"
#include "validate/numeric/kernels.hpp"
#include "validate/numeric/matrix.hpp"

/// Forward, input gradient and weight gradient of the blocks of a layer, on the part that a tensor-parallel rank holds.
/// What the tensor group must sum comes back as a partial result.
namespace lamina::validate::numeric {

/// A layer as one tensor-parallel rank holds it.
struct Part {
  int layer = 0;  ///< -1: embedding, L: head
  Shape shape;    ///< of the part
  std::vector<Parameter> parameters;
  int first_token = 0;  ///< of the vocabulary, that this rank holds
  int first_row = 0;    ///< rows whose norms and residuals are this rank's: all, or a slice of the sequence
  int end_row = 0;

  [[nodiscard]] bool is_embedding() const { return layer == -1; }

  [[nodiscard]] bool is_head() const { return layer == shape.layers; }

  [[nodiscard]] int blocks() const { return is_embedding() || is_head() ? 1 : 2; }
};

/// What a block keeps of one micro-batch. Absent: not made yet, or dropped.
struct Kept {
  Matrix input;
  Normed norm;
  Matrix normed;
  Matrix first;          ///< after the first matrix: queries, keys and values; MLP before GELU; logits
  Matrix probabilities;  ///< attention
  Matrix inner;          ///< before the second matrix
  Matrix output_gradient;
  Matrix first_gradient;
  Matrix normed_gradient;
};

/// Norm, first matrix and what follows it up to the second matrix: this rank's share of the block's output before bias
/// and residual. Needs `input`.
[[nodiscard]] Matrix forward_partial(const Part& part, int block, std::span<const float> weights, Kept& kept);

/// The block's output: input, the sum of all shares, and the second bias.
[[nodiscard]] Matrix forward_output(const Part& part, int block, std::span<const float> weights, const Kept& kept,
                                    Matrix sum);

void recompute_scores(const Part& part, Kept& kept);

/// This rank's share of the gradient of the normed input. Needs `output_gradient`.
[[nodiscard]] Matrix backward_partial(const Part& part, int block, std::span<const float> weights, Kept& kept);

/// Gradient of the block's input, from the sum of all shares, which is kept.
[[nodiscard]] Matrix backward_output(const Part& part, int block, std::span<const float> weights, Kept& kept,
                                     Matrix sum);

/// Adds the gradients of the block's six parameters.
void add_weight_gradients(const Part& part, int block, const Kept& kept, std::span<float> gradient);

/// Rows of the token table; a row of zeros for tokens of other ranks.
[[nodiscard]] Matrix embed(const Part& part, std::span<const float> weights, const std::vector<std::int32_t>& tokens);
void add_positions(const Part& part, std::span<const float> weights, Matrix& hidden);
void add_embedding_gradients(const Part& part, const std::vector<std::int32_t>& tokens, const View& output_gradient,
                             std::span<float> gradient);

/// Logits of the rank's part of the vocabulary, into `kept.first`. `matrix`: vocabulary x hidden.
void head_forward(const Part& part, std::span<const float> weights, const View& matrix, Kept& kept);

/// As for a block; needs `first_gradient`.
[[nodiscard]] Matrix head_backward_partial(const View& matrix, const Kept& kept);
[[nodiscard]] Matrix head_backward_output(const Part& part, std::span<const float> weights, Kept& kept, Matrix sum);
void add_head_gradients(const Part& part, const Kept& kept, std::span<float> gradient, const MutableView& matrix);

}  // namespace lamina::validate::numeric
