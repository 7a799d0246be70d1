#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "validate/numeric/matrix.hpp"

/// The arithmetic of a decoder in float32, as plain loops: shapes of a test are tiny. A library of matrix products can
/// take the place of `add_product` without a change elsewhere.
namespace lamina::validate::numeric {

/// c += op(a) op(b); op transposes where asked.
void add_product(const View& a, bool transpose_a, const View& b, bool transpose_b, const MutableView& c);

/// sum[j] += column j of `a`.
void add_columns(const View& a, std::span<float> sum);

/// Adds `row` to each row of `to`.
void add_to_rows(std::span<const float> row, Matrix& to);

/// What a layer norm keeps: its input less the mean, over the deviation; and one over the deviation of each row.
struct Normed {
  Matrix standard;
  std::vector<float> inverse_deviation;
};

/// gain x standard + bias, over the rows of `x`; variance + 1e-5.
[[nodiscard]] Matrix layer_norm(const View& x, std::span<const float> gain, std::span<const float> bias,
                                Normed& normed);

/// Gradient of the norm's input from that of its output.
[[nodiscard]] Matrix layer_norm_input_gradient(const View& output_gradient, std::span<const float> gain,
                                               const Normed& normed);

/// x (1 + erf(x / sqrt 2)) / 2.
[[nodiscard]] Matrix gelu(const View& x);
[[nodiscard]] Matrix gelu_gradient(const View& x, const View& output_gradient);

/// Heads of a causal attention. A row of `qkv` is a token: query, key and value of head 0, then of head 1, ...
struct Heads {
  int count = 0;
  int size = 0;
  int sequence = 0;  ///< tokens; rows are whole sequences one after the other
};

/// Softmax of the scaled scores: a row per head and token, a column per token of its sequence; 0 beyond the token.
[[nodiscard]] Matrix attention_probabilities(const View& qkv, const Heads& heads);

/// Tokens x (heads x size).
[[nodiscard]] Matrix attention_values(const View& qkv, const View& probabilities, const Heads& heads);

/// Gradient of `qkv`.
[[nodiscard]] Matrix attention_gradient(const View& qkv, const View& probabilities, const View& output_gradient,
                                        const Heads& heads);

/// Largest logit of a row and the sum of exponentials relative to it, over part of the vocabulary.
struct Exponentials {
  float largest = 0;
  float sum = 0;
};

[[nodiscard]] std::vector<Exponentials> exponentials(const View& logits);

/// The same over the vocabulary that `a` and `b` hold together.
[[nodiscard]] Exponentials combine(const Exponentials& a, const Exponentials& b);

/// Gradient of the sum over rows of `scale` x cross entropy. Column 0 is entry `first` of the vocabulary.
/// @return with, in `loss`, the sum (not scaled) over the rows whose target is one of these columns
[[nodiscard]] Matrix cross_entropy_gradient(const View& logits, const std::vector<Exponentials>& whole,
                                            const std::vector<std::int32_t>& targets, int first, float scale,
                                            double& loss);

}  // namespace lamina::validate::numeric
