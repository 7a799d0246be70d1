#include "validate/numeric/kernels.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace lamina::validate::numeric {
namespace {

constexpr float kVarianceFloor = 1e-5F;

float entry(const View& a, bool transpose, int i, int k) {
  return transpose ? a.row(k)[static_cast<std::size_t>(i)] : a.row(i)[static_cast<std::size_t>(k)];
}

/// Query (0), key (1) or value (2) of a head.
std::span<const float> part(const View& qkv, const Heads& heads, int token, int head, int which) {
  return qkv.row(token).subspan(static_cast<std::size_t>((head * 3 + which) * heads.size),
                                static_cast<std::size_t>(heads.size));
}

std::span<float> part(Matrix& qkv, const Heads& heads, int token, int head, int which) {
  return qkv.row(token).subspan(static_cast<std::size_t>((head * 3 + which) * heads.size),
                                static_cast<std::size_t>(heads.size));
}

float dot(std::span<const float> a, std::span<const float> b) {
  float sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    sum += a[i] * b[i];
  }
  return sum;
}

void add_scaled(std::span<const float> a, float factor, std::span<float> to) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    to[i] += factor * a[i];
  }
}

float scale_of(const Heads& heads) {
  return 1.0F / std::sqrt(static_cast<float>(heads.size));
}

}  // namespace

void add_product(const View& a, bool transpose_a, const View& b, bool transpose_b, const MutableView& c) {
  const int inner = transpose_a ? a.rows : a.columns;
  for (int i = 0; i < c.rows; ++i) {
    for (int j = 0; j < c.columns; ++j) {
      float sum = 0;
      for (int k = 0; k < inner; ++k) {
        sum += entry(a, transpose_a, i, k) * entry(b, transpose_b, k, j);
      }
      c.values[static_cast<std::size_t>(i) * static_cast<std::size_t>(c.columns) + static_cast<std::size_t>(j)] += sum;
    }
  }
}

void add_columns(const View& a, std::span<float> sum) {
  for (int i = 0; i < a.rows; ++i) {
    add_scaled(a.row(i), 1, sum);
  }
}

void add_to_rows(std::span<const float> row, Matrix& to) {
  for (int i = 0; i < to.rows; ++i) {
    add_scaled(row, 1, to.row(i));
  }
}

Matrix layer_norm(const View& x, std::span<const float> gain, std::span<const float> bias, Normed& normed) {
  Matrix result(x.rows, x.columns);
  normed.standard = Matrix(x.rows, x.columns);
  normed.inverse_deviation.assign(static_cast<std::size_t>(x.rows), 0);
  const auto width = static_cast<float>(x.columns);
  for (int i = 0; i < x.rows; ++i) {
    const auto row = x.row(i);
    float mean = 0;
    for (const float value : row) {
      mean += value / width;
    }
    float variance = 0;
    for (const float value : row) {
      variance += (value - mean) * (value - mean) / width;
    }
    const float inverse = 1 / std::sqrt(variance + kVarianceFloor);
    normed.inverse_deviation[static_cast<std::size_t>(i)] = inverse;
    for (std::size_t j = 0; j < row.size(); ++j) {
      normed.standard.row(i)[j] = (row[j] - mean) * inverse;
      result.row(i)[j] = gain[j] * normed.standard.row(i)[j] + bias[j];
    }
  }
  return result;
}

Matrix layer_norm_input_gradient(const View& output_gradient, std::span<const float> gain, const Normed& normed) {
  Matrix result(output_gradient.rows, output_gradient.columns);
  const auto width = static_cast<float>(result.columns);
  for (int i = 0; i < result.rows; ++i) {
    const auto gradient = output_gradient.row(i);
    const auto standard = normed.standard.row(i);
    float mean = 0;
    float mean_with_standard = 0;
    for (std::size_t j = 0; j < gradient.size(); ++j) {
      mean += gradient[j] * gain[j] / width;
      mean_with_standard += gradient[j] * gain[j] * standard[j] / width;
    }
    for (std::size_t j = 0; j < gradient.size(); ++j) {
      result.row(i)[j] = normed.inverse_deviation[static_cast<std::size_t>(i)] *
                         (gradient[j] * gain[j] - mean - standard[j] * mean_with_standard);
    }
  }
  return result;
}

Matrix gelu(const View& x) {
  Matrix result(x.rows, x.columns);
  for (std::size_t i = 0; i < x.values.size(); ++i) {
    result.values[i] = 0.5F * x.values[i] * (1 + std::erf(x.values[i] * std::sqrt(0.5F)));
  }
  return result;
}

Matrix gelu_gradient(const View& x, const View& output_gradient) {
  Matrix result(x.rows, x.columns);
  const float density = 1 / std::sqrt(2 * 3.14159265358979F);
  for (std::size_t i = 0; i < x.values.size(); ++i) {
    const float value = x.values[i];
    const float slope =
        0.5F * (1 + std::erf(value * std::sqrt(0.5F))) + value * density * std::exp(-0.5F * value * value);
    result.values[i] = output_gradient.values[i] * slope;
  }
  return result;
}

Matrix attention_probabilities(const View& qkv, const Heads& heads) {
  Matrix result(heads.count * qkv.rows, heads.sequence);
  for (int head = 0; head < heads.count; ++head) {
    for (int token = 0; token < qkv.rows; ++token) {
      const int place = token % heads.sequence;
      const auto row = result.row(head * qkv.rows + token).first(static_cast<std::size_t>(place) + 1);
      for (int other = 0; other <= place; ++other) {
        row[static_cast<std::size_t>(other)] =
            scale_of(heads) * dot(part(qkv, heads, token, head, 0), part(qkv, heads, token - place + other, head, 1));
      }
      const float largest = *std::max_element(row.begin(), row.end());
      float sum = 0;
      for (float& value : row) {
        value = std::exp(value - largest);
        sum += value;
      }
      for (float& value : row) {
        value /= sum;
      }
    }
  }
  return result;
}

Matrix attention_values(const View& qkv, const View& probabilities, const Heads& heads) {
  Matrix result(qkv.rows, heads.count * heads.size);
  for (int head = 0; head < heads.count; ++head) {
    for (int token = 0; token < qkv.rows; ++token) {
      const int place = token % heads.sequence;
      const auto to =
          result.row(token).subspan(static_cast<std::size_t>(head * heads.size), static_cast<std::size_t>(heads.size));
      for (int other = 0; other <= place; ++other) {
        add_scaled(part(qkv, heads, token - place + other, head, 2),
                   probabilities.row(head * qkv.rows + token)[static_cast<std::size_t>(other)], to);
      }
    }
  }
  return result;
}

Matrix attention_gradient(const View& qkv, const View& probabilities, const View& output_gradient, const Heads& heads) {
  Matrix result(qkv.rows, qkv.columns);
  std::vector<float> slopes(static_cast<std::size_t>(heads.sequence));
  for (int head = 0; head < heads.count; ++head) {
    for (int token = 0; token < qkv.rows; ++token) {
      const int place = token % heads.sequence;
      const auto gradient = output_gradient.row(token).subspan(static_cast<std::size_t>(head * heads.size),
                                                               static_cast<std::size_t>(heads.size));
      const auto row = probabilities.row(head * qkv.rows + token);
      float mean = 0;
      for (int other = 0; other <= place; ++other) {
        const auto at = static_cast<std::size_t>(other);
        slopes[at] = dot(gradient, part(qkv, heads, token - place + other, head, 2));
        mean += row[at] * slopes[at];
      }
      for (int other = 0; other <= place; ++other) {
        const auto at = static_cast<std::size_t>(other);
        const int source = token - place + other;
        const float score = row[at] * (slopes[at] - mean) * scale_of(heads);
        add_scaled(gradient, row[at], part(result, heads, source, head, 2));
        add_scaled(part(qkv, heads, source, head, 1), score, part(result, heads, token, head, 0));
        add_scaled(part(qkv, heads, token, head, 0), score, part(result, heads, source, head, 1));
      }
    }
  }
  return result;
}

std::vector<Exponentials> exponentials(const View& logits) {
  std::vector<Exponentials> result;
  for (int i = 0; i < logits.rows; ++i) {
    const auto row = logits.row(i);
    Exponentials sum{*std::max_element(row.begin(), row.end()), 0};
    for (const float value : row) {
      sum.sum += std::exp(value - sum.largest);
    }
    result.push_back(sum);
  }
  return result;
}

Exponentials combine(const Exponentials& a, const Exponentials& b) {
  const float largest = std::max(a.largest, b.largest);
  return {largest, a.sum * std::exp(a.largest - largest) + b.sum * std::exp(b.largest - largest)};
}

Matrix cross_entropy_gradient(const View& logits, const std::vector<Exponentials>& whole,
                              const std::vector<std::int32_t>& targets, int first, float scale, double& loss) {
  Matrix result(logits.rows, logits.columns);
  loss = 0;
  for (int i = 0; i < logits.rows; ++i) {
    const Exponentials& sum = whole[static_cast<std::size_t>(i)];
    const int target = targets[static_cast<std::size_t>(i)] - first;
    const auto row = logits.row(i);
    for (int j = 0; j < logits.columns; ++j) {
      const auto at = static_cast<std::size_t>(j);
      result.row(i)[at] = scale * (std::exp(row[at] - sum.largest) / sum.sum - (j == target ? 1.0F : 0.0F));
    }
    if (target >= 0 && target < logits.columns) {
      loss += static_cast<double>(std::log(sum.sum) + sum.largest - row[static_cast<std::size_t>(target)]);
    }
  }
  return result;
}

}  // namespace lamina::validate::numeric
