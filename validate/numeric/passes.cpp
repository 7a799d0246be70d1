#include "validate/numeric/passes.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace lamina::validate::numeric {
namespace {

constexpr int kAttention = 0;

const Parameter& parameter(const Part& part, int block, std::size_t which) {
  return part.parameters[static_cast<std::size_t>(block) * slot::kPerBlock + which];
}

std::span<const float> values(const Part& part, int block, std::size_t which, std::span<const float> weights) {
  const Parameter& at = parameter(part, block, which);
  return weights.subspan(at.offset, at.size());
}

View matrix(const Part& part, int block, std::size_t which, std::span<const float> weights) {
  const Parameter& at = parameter(part, block, which);
  return {values(part, block, which, weights), at.rows, at.columns};
}

std::span<float> values(const Part& part, int block, std::size_t which, std::span<float> gradient) {
  const Parameter& at = parameter(part, block, which);
  return gradient.subspan(at.offset, at.size());
}

MutableView matrix(const Part& part, int block, std::size_t which, std::span<float> gradient) {
  const Parameter& at = parameter(part, block, which);
  return {values(part, block, which, gradient), at.rows, at.columns};
}

Heads heads_of(const Part& part) {
  return {part.shape.heads, part.shape.head_size, part.shape.sequence};
}

Matrix product(const View& a, bool transpose_a, const View& b, bool transpose_b) {
  Matrix result(transpose_a ? a.columns : a.rows, transpose_b ? b.rows : b.columns);
  add_product(a, transpose_a, b, transpose_b, result.mutable_view());
  return result;
}

/// The rows whose norms and residuals are this rank's.
View own_rows(const Part& part, const Matrix& whole) {
  const auto columns = static_cast<std::size_t>(whole.columns);
  const int rows = part.end_row - part.first_row;
  return {std::span(whole.values)
              .subspan(static_cast<std::size_t>(part.first_row) * columns, static_cast<std::size_t>(rows) * columns),
          rows, whole.columns};
}

void add(const Matrix& from, Matrix& to) {
  std::transform(from.values.begin(), from.values.end(), to.values.begin(), to.values.begin(), std::plus<>());
}

void add_norm_gradients(const Part& part, const Kept& kept, std::span<float> gain, std::span<float> bias) {
  for (int row = part.first_row; row < part.end_row; ++row) {
    const auto gradient = kept.normed_gradient.row(row);
    for (std::size_t j = 0; j < gradient.size(); ++j) {
      gain[j] += gradient[j] * kept.norm.standard.row(row)[j];
      bias[j] += gradient[j];
    }
  }
}

}  // namespace

Matrix forward_partial(const Part& part, int block, std::span<const float> weights, Kept& kept) {
  kept.normed = layer_norm(kept.input.view(), values(part, block, slot::kGain, weights),
                           values(part, block, slot::kBias, weights), kept.norm);
  kept.first = product(kept.normed.view(), false, matrix(part, block, slot::kFirst, weights), false);
  add_to_rows(values(part, block, slot::kFirstBias, weights), kept.first);
  if (block == kAttention) {
    kept.probabilities = attention_probabilities(kept.first.view(), heads_of(part));
    kept.inner = attention_values(kept.first.view(), kept.probabilities.view(), heads_of(part));
  } else {
    kept.inner = gelu(kept.first.view());
  }
  return product(kept.inner.view(), false, matrix(part, block, slot::kSecond, weights), false);
}

Matrix forward_output(const Part& part, int block, std::span<const float> weights, const Kept& kept, Matrix sum) {
  add(kept.input, sum);
  add_to_rows(values(part, block, slot::kSecondBias, weights), sum);
  return sum;
}

void recompute_scores(const Part& part, Kept& kept) {
  kept.probabilities = attention_probabilities(kept.first.view(), heads_of(part));
}

Matrix backward_partial(const Part& part, int block, std::span<const float> weights, Kept& kept) {
  const Matrix inner_gradient =
      product(kept.output_gradient.view(), false, matrix(part, block, slot::kSecond, weights), true);
  kept.first_gradient = block == kAttention ? attention_gradient(kept.first.view(), kept.probabilities.view(),
                                                                 inner_gradient.view(), heads_of(part))
                                            : gelu_gradient(kept.first.view(), inner_gradient.view());
  return product(kept.first_gradient.view(), false, matrix(part, block, slot::kFirst, weights), true);
}

Matrix backward_output(const Part& part, int block, std::span<const float> weights, Kept& kept, Matrix sum) {
  kept.normed_gradient = std::move(sum);
  Matrix result =
      layer_norm_input_gradient(kept.normed_gradient.view(), values(part, block, slot::kGain, weights), kept.norm);
  add(kept.output_gradient, result);
  return result;
}

void add_weight_gradients(const Part& part, int block, const Kept& kept, std::span<float> gradient) {
  add_product(kept.inner.view(), true, kept.output_gradient.view(), false,
              matrix(part, block, slot::kSecond, gradient));
  add_columns(own_rows(part, kept.output_gradient), values(part, block, slot::kSecondBias, gradient));
  add_product(kept.normed.view(), true, kept.first_gradient.view(), false, matrix(part, block, slot::kFirst, gradient));
  add_columns(kept.first_gradient.view(), values(part, block, slot::kFirstBias, gradient));
  add_norm_gradients(part, kept, values(part, block, slot::kGain, gradient),
                     values(part, block, slot::kBias, gradient));
}

Matrix embed(const Part& part, std::span<const float> weights, const std::vector<std::int32_t>& tokens) {
  Matrix result(static_cast<int>(tokens.size()), part.shape.hidden);
  const View table = matrix(part, 0, slot::kTable, weights);
  for (int i = 0; i < result.rows; ++i) {
    const int token = tokens[static_cast<std::size_t>(i)] - part.first_token;
    if (token >= 0 && token < table.rows) {
      std::copy_n(table.row(token).begin(), part.shape.hidden, result.row(i).begin());
    }
  }
  return result;
}

void add_positions(const Part& part, std::span<const float> weights, Matrix& hidden) {
  const View positions = matrix(part, 0, slot::kPositions, weights);
  for (int i = 0; i < hidden.rows; ++i) {
    const auto from = positions.row(i % part.shape.sequence);
    std::transform(from.begin(), from.end(), hidden.row(i).begin(), hidden.row(i).begin(), std::plus<>());
  }
}

void add_embedding_gradients(const Part& part, const std::vector<std::int32_t>& tokens, const View& output_gradient,
                             std::span<float> gradient) {
  const auto width = static_cast<std::size_t>(part.shape.hidden);
  const auto table = values(part, 0, slot::kTable, gradient);
  const auto positions = values(part, 0, slot::kPositions, gradient);
  const auto add_row = [&](std::span<const float> row, std::span<float> to) {
    std::transform(row.begin(), row.end(), to.begin(), to.begin(), std::plus<>());
  };
  for (int i = 0; i < output_gradient.rows; ++i) {
    const int token = tokens[static_cast<std::size_t>(i)] - part.first_token;
    if (token >= 0 && token < part.shape.vocabulary) {
      add_row(output_gradient.row(i), table.subspan(static_cast<std::size_t>(token) * width, width));
    }
    if (i >= part.first_row && i < part.end_row) {
      const auto position = static_cast<std::size_t>(i % part.shape.sequence);
      add_row(output_gradient.row(i), positions.subspan(position * width, width));
    }
  }
}

void head_forward(const Part& part, std::span<const float> weights, const View& matrix, Kept& kept) {
  kept.normed = layer_norm(kept.input.view(), values(part, 0, slot::kGain, weights),
                           values(part, 0, slot::kBias, weights), kept.norm);
  kept.first = product(kept.normed.view(), false, matrix, true);
}

Matrix head_backward_partial(const View& matrix, const Kept& kept) {
  return product(kept.first_gradient.view(), false, matrix, false);
}

Matrix head_backward_output(const Part& part, std::span<const float> weights, Kept& kept, Matrix sum) {
  kept.normed_gradient = std::move(sum);
  return layer_norm_input_gradient(kept.normed_gradient.view(), values(part, 0, slot::kGain, weights), kept.norm);
}

void add_head_gradients(const Part& part, const Kept& kept, std::span<float> gradient, const MutableView& matrix) {
  add_product(kept.first_gradient.view(), true, kept.normed.view(), false, matrix);
  add_norm_gradients(part, kept, values(part, 0, slot::kGain, gradient), values(part, 0, slot::kBias, gradient));
}

}  // namespace lamina::validate::numeric
