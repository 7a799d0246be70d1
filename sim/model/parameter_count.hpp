#pragma once

#include "sim/scenario/scenario.hpp"

namespace lamina::model {

/// Trainable parameters. `layer` is one transformer layer.
struct ParameterCount {
  double embedding = 0;
  double layer = 0;
  double head = 0;
};

/// Exact count of the whole model, biases and norms included; a tied head has only its norm, so that nothing counts
/// twice. GPT: 12 h^2 + 13 h per layer (Narayanan et al., arXiv 2104.04473, eq. 2).
[[nodiscard]] ParameterCount parameters_of_model(const scenario::Model& model);

/// Count that one of `tensor_parallel` ranks stores: matrices and their split biases / t; norms, biases of row-split
/// matrices and positions replicated; key/value heads at least one per rank; vocabulary rounded up. A tied head holds a
/// copy of the embedding matrix when the pipeline puts the two on different ranks.
[[nodiscard]] ParameterCount parameters_of_rank(const scenario::Model& model, const scenario::Strategy& strategy);

}  // namespace lamina::model
