#include "validate/numeric/decoder.hpp"

#include <algorithm>
#include <numeric>
#include <random>

#include <fmt/format.h>

namespace lamina::validate::numeric {
namespace {

using Random = std::mt19937;

/// Uniform in [-1, 1), the same on every platform.
float draw(Random& random) {
  return static_cast<float>(static_cast<double>(random()) / 2147483648.0 - 1);
}

std::size_t columns_of(const Parameter& parameter) {
  return static_cast<std::size_t>(parameter.columns);
}

}  // namespace

Shape Shape::part(int ranks) const {
  Shape result = *this;
  result.heads /= ranks;
  result.feed_forward /= ranks;
  result.vocabulary /= ranks;
  return result;
}

tl::expected<Shape, error::Infeasible> shape_of(const scenario::Scenario& scenario) {
  const scenario::Model& model = scenario.model;
  const int tensor = scenario.strategy.tensor_parallel;
  const bool plain = !model.custom && model.vocabulary > 0 && !model.gated_mlp && model.biases &&
                     model.key_value_heads == model.heads && model.learned_positions >= model.sequence_length;
  if (!plain) {
    return tl::unexpected(error::Infeasible{fmt::format(
        "The step of model {} cannot be computed: only decoders with vocabulary, learned positions, layer norms with "
        "bias, as many key and value heads as query heads and a plain MLP are known.",
        model.name)});
  }
  if (model.heads % tensor != 0 || model.feed_forward % tensor != 0 || model.vocabulary % tensor != 0) {
    return tl::unexpected(error::Infeasible{
        fmt::format("The heads, MLP width and vocabulary of model {} are no multiples of {} tensor-parallel ranks.",
                    model.name, tensor)});
  }
  return Shape{model.layers,
               static_cast<int>(model.hidden),
               static_cast<int>(model.heads),
               static_cast<int>(model.head_size),
               static_cast<int>(model.feed_forward),
               static_cast<int>(model.vocabulary),
               static_cast<int>(model.sequence_length),
               model.tied_embeddings};
}

std::vector<Parameter> parameters_of(const Shape& shape, int layer, bool own_matrix) {
  std::vector<Parameter> result;
  std::size_t offset = 0;
  const auto add = [&](const char* name, int rows, int columns, Split split) {
    result.push_back({name, offset, rows, columns, split});
    offset += result.back().size();
  };
  const int h = shape.hidden;
  if (layer == -1) {
    add("token table", shape.vocabulary, h, Split::kRows);
    add("positions", shape.sequence, h, Split::kNone);
    return result;
  }
  if (layer == shape.layers) {
    add("final norm gain", 1, h, Split::kNone);
    add("final norm bias", 1, h, Split::kNone);
    if (own_matrix) {
      add("head matrix", shape.vocabulary, h, Split::kRows);
    }
    return result;
  }
  const int heads = shape.heads * shape.head_size;
  const int f = shape.feed_forward;
  add("attention norm gain", 1, h, Split::kNone);
  add("attention norm bias", 1, h, Split::kNone);
  add("qkv matrix", h, 3 * heads, Split::kColumns);
  add("qkv bias", 1, 3 * heads, Split::kColumns);
  add("projection matrix", heads, h, Split::kRows);
  add("projection bias", 1, h, Split::kNone);
  add("mlp norm gain", 1, h, Split::kNone);
  add("mlp norm bias", 1, h, Split::kNone);
  add("up matrix", h, f, Split::kColumns);
  add("up bias", 1, f, Split::kColumns);
  add("down matrix", f, h, Split::kRows);
  add("down bias", 1, h, Split::kNone);
  return result;
}

std::size_t size_of(const std::vector<Parameter>& parameters) {
  return parameters.back().offset + parameters.back().size();
}

std::vector<std::size_t> places_of_part(const Shape& shape, int layer, bool own_matrix, int tensor, int ranks) {
  const std::vector<Parameter> whole = parameters_of(shape, layer, own_matrix);
  const std::vector<Parameter> part = parameters_of(shape.part(ranks), layer, own_matrix);
  std::vector<std::size_t> places;
  for (std::size_t p = 0; p < part.size(); ++p) {
    const auto first_row = static_cast<std::size_t>(part[p].split == Split::kRows ? tensor * part[p].rows : 0);
    const auto first_column = static_cast<std::size_t>(part[p].split == Split::kColumns ? tensor * part[p].columns : 0);
    for (std::size_t i = 0; i < part[p].size(); ++i) {
      const std::size_t row = first_row + i / columns_of(part[p]);
      const std::size_t column = first_column + i % columns_of(part[p]);
      places.push_back(whole[p].offset + row * columns_of(whole[p]) + column);
    }
  }
  return places;
}

std::vector<float> initial_weights(const Shape& shape, int layer, bool own_matrix) {
  const std::vector<Parameter> parameters = parameters_of(shape, layer, own_matrix);
  std::vector<float> weights(size_of(parameters));
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    const bool tied_matrix = shape.tied && layer == shape.layers && p == slot::kMatrix;
    if (tied_matrix) {
      const std::vector<float> embedding = initial_weights(shape, -1, false);
      std::copy_n(embedding.begin(), parameters[p].size(),
                  weights.begin() + static_cast<std::ptrdiff_t>(parameters[p].offset));
      continue;
    }
    Random random(static_cast<Random::result_type>(1000 * (layer + 2) + static_cast<int>(p)));
    const bool is_gain = layer >= 0 && (p == slot::kGain || (layer < shape.layers && p == 6 + slot::kGain));
    for (std::size_t i = 0; i < parameters[p].size(); ++i) {
      weights[parameters[p].offset + i] = (is_gain ? 1.0F : 0.0F) + 0.4F * draw(random);
    }
  }
  return weights;
}

std::int32_t token_of(const Shape& shape, int sequence, int position) {
  Random random(static_cast<Random::result_type>(77777 + 131 * sequence + position));
  random.discard(3);
  return static_cast<std::int32_t>(random() % static_cast<Random::result_type>(shape.vocabulary));
}

Optimizer optimizer_of(const scenario::Strategy& strategy) {
  Optimizer optimizer;
  optimizer.clip = strategy.update == scenario::Update::kAfterGlobalNorm ? 0.05F : 0;
  return optimizer;
}

}  // namespace lamina::validate::numeric
