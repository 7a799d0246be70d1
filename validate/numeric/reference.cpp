#include "validate/numeric/reference.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace lamina::validate::numeric {
namespace {

using Row = std::vector<double>;
using Rows = std::vector<Row>;

std::size_t at(int i) {
  return static_cast<std::size_t>(i);
}

Rows rows(int count, int width) {
  return Rows(at(count), Row(at(width), 0));
}

/// One sequence, forward and (if gradients are wanted) backward. `G`: gradients, of the shape of the weights.
class Sequence {
 public:
  Sequence(const Shape& shape, const LayerValues& weights, int number, double scale)
      : shape_(shape), weights_(weights), number_(number), scale_(scale) {}

  double forward() {
    Rows x = embed();
    for (int layer = 0; layer < shape_.layers; ++layer) {
      x = attention(layer, x);
      x = mlp(layer, x);
    }
    return head(x);
  }

  void backward(LayerValues& gradients) {
    Rows dx = head_backward(gradients);
    for (int layer = shape_.layers - 1; layer >= 0; --layer) {
      dx = mlp_backward(layer, dx, gradients);
      dx = attention_backward(layer, dx, gradients);
    }
    const std::vector<Parameter> parameters = parameters_of(shape_, -1, false);
    for (int t = 0; t < shape_.sequence; ++t) {
      for (int j = 0; j < shape_.hidden; ++j) {
        const int token = token_of(shape_, number_, t);
        gradients[0][parameters[slot::kTable].offset + at(token * shape_.hidden + j)] += dx[at(t)][at(j)];
        gradients[0][parameters[slot::kPositions].offset + at(t * shape_.hidden + j)] += dx[at(t)][at(j)];
      }
    }
  }

 private:
  struct Norm {
    Rows standard;
    Row inverse;
    Rows out;
  };

  struct Block {
    Rows x;
    Norm norm;
    Rows first;
    std::vector<Rows> probabilities;  ///< [head]
    Rows inner;
  };

  /// Weights of a layer with the names of its parameters.
  struct Layer {
    std::vector<Parameter> parameters;
    const std::vector<double>& values;

    [[nodiscard]] double get(std::size_t which, int i, int j) const {
      return values[parameters[which].offset + at(i * parameters[which].columns + j)];
    }
  };

  [[nodiscard]] Layer layer_of(int layer) const {
    return {parameters_of(shape_, layer, true), weights_[at(layer + 1)]};
  }

  [[nodiscard]] bool own_matrix() const {
    return weights_.back().size() == size_of(parameters_of(shape_, shape_.layers, true));
  }

  [[nodiscard]] double matrix(int token, int j) const {
    return own_matrix() ? layer_of(shape_.layers).get(slot::kMatrix, token, j)
                        : layer_of(-1).get(slot::kTable, token, j);
  }

  Rows embed() const {
    const Layer layer = layer_of(-1);
    Rows x = rows(shape_.sequence, shape_.hidden);
    for (int t = 0; t < shape_.sequence; ++t) {
      for (int j = 0; j < shape_.hidden; ++j) {
        x[at(t)][at(j)] = layer.get(slot::kTable, token_of(shape_, number_, t), j) + layer.get(slot::kPositions, t, j);
      }
    }
    return x;
  }

  Norm normalise(const Layer& layer, std::size_t base, const Rows& x) const {
    Norm norm{x, Row(x.size()), x};
    for (std::size_t t = 0; t < x.size(); ++t) {
      double mean = 0;
      double square = 0;
      for (const double value : x[t]) {
        mean += value / shape_.hidden;
        square += value * value / shape_.hidden;
      }
      norm.inverse[t] = 1 / std::sqrt(square - mean * mean + 1e-5);
      for (int j = 0; j < shape_.hidden; ++j) {
        norm.standard[t][at(j)] = (x[t][at(j)] - mean) * norm.inverse[t];
        norm.out[t][at(j)] =
            layer.get(base + slot::kGain, 0, j) * norm.standard[t][at(j)] + layer.get(base + slot::kBias, 0, j);
      }
    }
    return norm;
  }

  Rows normalise_backward(const Layer& layer, std::size_t base, const Norm& norm, const Rows& out_gradient,
                          std::vector<double>& gradient) const {
    Rows dx = out_gradient;
    for (std::size_t t = 0; t < dx.size(); ++t) {
      double sum = 0;
      double with_standard = 0;
      for (int j = 0; j < shape_.hidden; ++j) {
        const double through = out_gradient[t][at(j)] * layer.get(base + slot::kGain, 0, j);
        sum += through;
        with_standard += through * norm.standard[t][at(j)];
        gradient[layer.parameters[base + slot::kGain].offset + at(j)] +=
            out_gradient[t][at(j)] * norm.standard[t][at(j)];
        gradient[layer.parameters[base + slot::kBias].offset + at(j)] += out_gradient[t][at(j)];
      }
      for (int j = 0; j < shape_.hidden; ++j) {
        const double through = out_gradient[t][at(j)] * layer.get(base + slot::kGain, 0, j);
        dx[t][at(j)] =
            norm.inverse[t] * (through - sum / shape_.hidden - norm.standard[t][at(j)] * with_standard / shape_.hidden);
      }
    }
    return dx;
  }

  static Rows apply(const Layer& layer, std::size_t weight, const Rows& x) {
    const Parameter& p = layer.parameters[weight];
    Rows y = rows(static_cast<int>(x.size()), p.columns);
    for (std::size_t t = 0; t < x.size(); ++t) {
      for (int j = 0; j < p.columns; ++j) {
        y[t][at(j)] = layer.get(weight + 1, 0, j);
        for (int k = 0; k < p.rows; ++k) {
          y[t][at(j)] += x[t][at(k)] * layer.get(weight, k, j);
        }
      }
    }
    return y;
  }

  static Rows apply_backward(const Layer& layer, std::size_t weight, const Rows& x, const Rows& dy,
                             std::vector<double>& gradient) {
    const Parameter& p = layer.parameters[weight];
    Rows dx = rows(static_cast<int>(x.size()), p.rows);
    for (std::size_t t = 0; t < x.size(); ++t) {
      for (int j = 0; j < p.columns; ++j) {
        gradient[layer.parameters[weight + 1].offset + at(j)] += dy[t][at(j)];
        for (int k = 0; k < p.rows; ++k) {
          gradient[p.offset + at(k * p.columns + j)] += x[t][at(k)] * dy[t][at(j)];
          dx[t][at(k)] += dy[t][at(j)] * layer.get(weight, k, j);
        }
      }
    }
    return dx;
  }

  static void add(const Rows& from, Rows& to) {
    for (std::size_t t = 0; t < from.size(); ++t) {
      for (std::size_t j = 0; j < from[t].size(); ++j) {
        to[t][j] += from[t][j];
      }
    }
  }

  /// Column of a head's query (0), key (1) or value (2).
  [[nodiscard]] std::size_t column(int head, int which, int i) const {
    return at((head * 3 + which) * shape_.head_size + i);
  }

  Rows attention(int number, const Rows& x) {
    const Layer layer = layer_of(number);
    Block block{x, normalise(layer, 0, x), {}, {}, rows(shape_.sequence, shape_.heads * shape_.head_size)};
    block.first = apply(layer, slot::kFirst, block.norm.out);
    for (int head = 0; head < shape_.heads; ++head) {
      Rows p = rows(shape_.sequence, shape_.sequence);
      for (int t = 0; t < shape_.sequence; ++t) {
        double sum = 0;
        for (int u = 0; u <= t; ++u) {
          double score = 0;
          for (int i = 0; i < shape_.head_size; ++i) {
            score += block.first[at(t)][column(head, 0, i)] * block.first[at(u)][column(head, 1, i)];
          }
          p[at(t)][at(u)] = std::exp(score / std::sqrt(shape_.head_size));
          sum += p[at(t)][at(u)];
        }
        for (int u = 0; u <= t; ++u) {
          p[at(t)][at(u)] /= sum;
          for (int i = 0; i < shape_.head_size; ++i) {
            block.inner[at(t)][at(head * shape_.head_size + i)] +=
                p[at(t)][at(u)] * block.first[at(u)][column(head, 2, i)];
          }
        }
      }
      block.probabilities.push_back(p);
    }
    Rows y = apply(layer, slot::kSecond, block.inner);
    add(x, y);
    blocks_.push_back(std::move(block));
    return y;
  }

  Rows attention_backward(int number, const Rows& dy, LayerValues& gradients) {
    const Layer layer = layer_of(number);
    const Block block = std::move(blocks_.back());
    blocks_.pop_back();
    std::vector<double>& gradient = gradients[at(number + 1)];
    const Rows d_inner = apply_backward(layer, slot::kSecond, block.inner, dy, gradient);
    Rows d_first = rows(shape_.sequence, 3 * shape_.heads * shape_.head_size);
    for (int head = 0; head < shape_.heads; ++head) {
      const Rows& p = block.probabilities[at(head)];
      for (int t = 0; t < shape_.sequence; ++t) {
        Row dp(at(t + 1), 0);
        double mean = 0;
        for (int u = 0; u <= t; ++u) {
          for (int i = 0; i < shape_.head_size; ++i) {
            const double d = d_inner[at(t)][at(head * shape_.head_size + i)];
            dp[at(u)] += d * block.first[at(u)][column(head, 2, i)];
            d_first[at(u)][column(head, 2, i)] += d * p[at(t)][at(u)];
          }
          mean += dp[at(u)] * p[at(t)][at(u)];
        }
        for (int u = 0; u <= t; ++u) {
          const double ds = p[at(t)][at(u)] * (dp[at(u)] - mean) / std::sqrt(shape_.head_size);
          for (int i = 0; i < shape_.head_size; ++i) {
            d_first[at(t)][column(head, 0, i)] += ds * block.first[at(u)][column(head, 1, i)];
            d_first[at(u)][column(head, 1, i)] += ds * block.first[at(t)][column(head, 0, i)];
          }
        }
      }
    }
    const Rows d_out = apply_backward(layer, slot::kFirst, block.norm.out, d_first, gradient);
    Rows dx = normalise_backward(layer, 0, block.norm, d_out, gradient);
    add(dy, dx);
    return dx;
  }

  Rows mlp(int number, const Rows& x) {
    const Layer layer = layer_of(number);
    Block block{x, normalise(layer, slot::kPerBlock, x), {}, {}, {}};
    block.first = apply(layer, slot::kPerBlock + slot::kFirst, block.norm.out);
    block.inner = block.first;
    for (Row& row : block.inner) {
      for (double& value : row) {
        value *= (1 + std::erf(value / std::sqrt(2.0))) / 2;
      }
    }
    Rows y = apply(layer, slot::kPerBlock + slot::kSecond, block.inner);
    add(x, y);
    blocks_.push_back(std::move(block));
    return y;
  }

  Rows mlp_backward(int number, const Rows& dy, LayerValues& gradients) {
    const Layer layer = layer_of(number);
    const Block block = std::move(blocks_.back());
    blocks_.pop_back();
    std::vector<double>& gradient = gradients[at(number + 1)];
    Rows d_first = apply_backward(layer, slot::kPerBlock + slot::kSecond, block.inner, dy, gradient);
    for (std::size_t t = 0; t < d_first.size(); ++t) {
      for (std::size_t j = 0; j < d_first[t].size(); ++j) {
        const double value = block.first[t][j];
        d_first[t][j] *= (1 + std::erf(value / std::sqrt(2.0))) / 2 +
                         value * std::exp(-value * value / 2) / std::sqrt(2 * 3.14159265358979323846);
      }
    }
    const Rows d_out = apply_backward(layer, slot::kPerBlock + slot::kFirst, block.norm.out, d_first, gradient);
    Rows dx = normalise_backward(layer, slot::kPerBlock, block.norm, d_out, gradient);
    add(dy, dx);
    return dx;
  }

  /// Sum of the cross entropies of the sequence; keeps the gradient of the logits.
  double head(const Rows& x) {
    head_norm_ = normalise(layer_of(shape_.layers), 0, x);
    d_logits_ = rows(shape_.sequence, shape_.vocabulary);
    double loss = 0;
    for (int t = 0; t < shape_.sequence; ++t) {
      Row& logits = d_logits_[at(t)];
      double sum = 0;
      for (int v = 0; v < shape_.vocabulary; ++v) {
        for (int j = 0; j < shape_.hidden; ++j) {
          logits[at(v)] += head_norm_.out[at(t)][at(j)] * matrix(v, j);
        }
        sum += std::exp(logits[at(v)]);
      }
      const int target = token_of(shape_, number_, t + 1);
      loss += std::log(sum) - logits[at(target)];
      for (int v = 0; v < shape_.vocabulary; ++v) {
        logits[at(v)] = scale_ * (std::exp(logits[at(v)]) / sum - (v == target ? 1 : 0));
      }
    }
    return loss;
  }

  Rows head_backward(LayerValues& gradients) {
    const Layer layer = layer_of(shape_.layers);
    std::vector<double>& own = gradients.back();
    std::vector<double>& of_matrix = own_matrix() ? own : gradients.front();
    const std::size_t offset = own_matrix() ? layer.parameters[slot::kMatrix].offset : 0;
    Rows d_out = rows(shape_.sequence, shape_.hidden);
    for (int t = 0; t < shape_.sequence; ++t) {
      for (int v = 0; v < shape_.vocabulary; ++v) {
        for (int j = 0; j < shape_.hidden; ++j) {
          d_out[at(t)][at(j)] += d_logits_[at(t)][at(v)] * matrix(v, j);
          of_matrix[offset + at(v * shape_.hidden + j)] += d_logits_[at(t)][at(v)] * head_norm_.out[at(t)][at(j)];
        }
      }
    }
    return normalise_backward(layer, 0, head_norm_, d_out, own);
  }

  const Shape& shape_;
  const LayerValues& weights_;
  int number_;
  double scale_;
  std::vector<Block> blocks_;
  Norm head_norm_;
  Rows d_logits_;
};

/// Both copies of a tied matrix get the sum of their gradients.
void sum_tied_copies(const Shape& shape, LayerValues& gradients) {
  const Parameter matrix = parameters_of(shape, shape.layers, true)[slot::kMatrix];
  for (std::size_t i = 0; i < matrix.size(); ++i) {
    double& of_table = gradients.front()[i];
    double& of_matrix = gradients.back()[matrix.offset + i];
    of_table = of_matrix = of_table + of_matrix;
  }
}

}  // namespace

LayerValues initial_weights(const Shape& shape, bool own_matrix) {
  LayerValues result;
  for (int layer = -1; layer <= shape.layers; ++layer) {
    const std::vector<float> weights = initial_weights(shape, layer, own_matrix);
    result.emplace_back(weights.begin(), weights.end());
  }
  return result;
}

double loss_of(const Shape& shape, const LayerValues& weights, int sequences) {
  double sum = 0;
  for (int i = 0; i < sequences; ++i) {
    sum += Sequence(shape, weights, i, 1).forward();
  }
  return sum / (static_cast<double>(sequences) * shape.sequence);
}

ReferenceStep reference_step(const Shape& shape, bool own_matrix, int sequences, const Optimizer& optimizer) {
  ReferenceStep step;
  step.weights = initial_weights(shape, own_matrix);
  for (const auto& layer : step.weights) {
    step.gradients.emplace_back(layer.size(), 0.0);
  }
  const double scale = 1 / (static_cast<double>(sequences) * shape.sequence);
  for (int i = 0; i < sequences; ++i) {
    Sequence sequence(shape, step.weights, i, scale);
    step.loss += sequence.forward() * scale;
    sequence.backward(step.gradients);
  }
  const bool copies = shape.tied && own_matrix;
  if (copies) {
    sum_tied_copies(shape, step.gradients);
  }
  double squares = 0;
  for (std::size_t layer = 0; layer < step.gradients.size(); ++layer) {
    const bool head = layer + 1 == step.gradients.size();
    const std::size_t end =
        copies && head ? parameters_of(shape, shape.layers, true)[slot::kMatrix].offset : step.gradients[layer].size();
    for (std::size_t i = 0; i < end; ++i) {
      squares += step.gradients[layer][i] * step.gradients[layer][i];
    }
  }
  step.norm = std::sqrt(squares);
  const double shrink = optimizer.clip > 0 && step.norm > optimizer.clip ? optimizer.clip / step.norm : 1;
  for (std::size_t layer = 0; layer < step.weights.size(); ++layer) {
    for (std::size_t i = 0; i < step.weights[layer].size(); ++i) {
      step.weights[layer][i] -= optimizer.rate * shrink * step.gradients[layer][i];
    }
  }
  return step;
}

}  // namespace lamina::validate::numeric
