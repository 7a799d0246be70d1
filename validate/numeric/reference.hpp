#pragma once

#include <vector>

#include "validate/numeric/decoder.hpp"

/// One training step on one device, in double precision and without any of the executor's code: the whole batch, one
/// sequence after the other.
namespace lamina::validate::numeric {

/// [layer + 1] values of a whole layer: embedding, layers, head.
using LayerValues = std::vector<std::vector<double>>;

struct ReferenceStep {
  double loss = 0;  ///< mean cross entropy of all tokens
  double norm = 0;  ///< of the whole gradient; a tied matrix counts once
  LayerValues gradients;
  LayerValues weights;  ///< after the update
};

/// The model's initial weights. `own_matrix`: the head has its projection (a copy of the table when tied).
[[nodiscard]] LayerValues initial_weights(const Shape& shape, bool own_matrix);

/// Mean cross entropy of `sequences` sequences.
[[nodiscard]] double loss_of(const Shape& shape, const LayerValues& weights, int sequences);

/// Loss, gradients and update. Gradients of a tied matrix are sums of both its uses, in both places where it stands.
[[nodiscard]] ReferenceStep reference_step(const Shape& shape, bool own_matrix, int sequences,
                                           const Optimizer& optimizer);

}  // namespace lamina::validate::numeric
