#pragma once

#include <vector>

#include "sim/graph/operation_graph.hpp"
#include "validate/numeric/worker.hpp"

/// What a rank gives to the collectives of its groups, and what it does with their outcomes.
namespace lamina::validate::numeric {

/// Whether a message carries one tensor rank's slice of activations that every tensor rank holds.
[[nodiscard]] bool slices_messages(const World& world);

/// What goes into a collective other than the norm's: partial results or slices of the tensor group, a unit's shard of
/// weights or its gradients (in a slice per owner, padded to equal sizes, where optimizer state is cut), the gradient
/// of a tied matrix. `gradients`: what is gathered in front of a block is its output gradient.
/// @throws InternalError when it is not here
[[nodiscard]] std::vector<float> contribution(const World& world, Worker& worker, const graph::Operation& operation,
                                              bool gradients);

/// Goes on with what came out.
void accept(const World& world, Worker& worker, const graph::Operation& operation, bool gradients,
            std::vector<float> outcome);

/// Gradients of a unit's parameters that every tensor rank holds in full, one after the other.
[[nodiscard]] std::vector<float> replicated_gradients(Device& device, int unit);
void set_replicated_gradients(Device& device, int unit, const std::vector<float>& sum);

/// Of the gradients that no other rank of the replica counts.
/// @throws InternalError when a gradient is not complete
[[nodiscard]] double sum_of_squares(const World& world, Worker& worker);

}  // namespace lamina::validate::numeric
