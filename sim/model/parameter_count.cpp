#include "sim/model/parameter_count.hpp"

#include "sim/model/shape.hpp"

namespace lamina::model {
namespace {

double layer_parameters(const Shape& shape) {
  const auto hidden = static_cast<double>(shape.hidden);
  const auto feed_forward = static_cast<double>(shape.feed_forward);
  const auto query = static_cast<double>(shape.query_width());
  const double query_key_value = query + 2 * static_cast<double>(shape.key_value_width());
  const double up_width = (shape.gated ? 2 : 1) * feed_forward;
  const double matrices = hidden * (query_key_value + query + up_width + feed_forward);
  const double norms = (shape.biases ? 4 : 2) * hidden;
  const double biases = shape.biases ? query_key_value + hidden + up_width + hidden : 0;
  return matrices + norms + biases;
}

ParameterCount count(const Shape& shape, bool head_has_matrix) {
  ParameterCount result;
  result.layer = layer_parameters(shape);
  if (shape.vocabulary > 0) {
    const auto hidden = static_cast<double>(shape.hidden);
    const double matrix = static_cast<double>(shape.vocabulary) * hidden;
    result.embedding = matrix + static_cast<double>(shape.positions) * hidden;
    result.head = (head_has_matrix ? matrix : 0) + (shape.biases ? 2 : 1) * hidden;
  }
  return result;
}

}  // namespace

ParameterCount parameters_of_model(const scenario::Model& model) {
  return count(shape_of(model, scenario::Strategy{}, true, 1, false), !model.tied_embeddings);
}

ParameterCount parameters_of_rank(const scenario::Model& model, const scenario::Strategy& strategy) {
  const bool copied = model.tied_embeddings && strategy.pipeline_parallel > 1;
  return count(shape_of(model, strategy, true, strategy.tensor_parallel, false), !model.tied_embeddings || copied);
}

}  // namespace lamina::model
