#pragma once

#include <vector>

#include "sim/graph/operation_graph.hpp"
#include "validate/numeric/worker.hpp"

/// What the members of a group do together, once all have arrived.
namespace lamina::validate::numeric {

/// Whether a message carries one tensor rank's slice of activations that every tensor rank holds.
[[nodiscard]] bool slices_messages(const World& world);

/// Poisons all but the `slice`-th of `slices` parts.
void keep_slice(Matrix& content, int slice, int slices);

/// A collective of the tensor group: the sum of partial results (all-reduce, or reduce-scatter that leaves each its
/// rows), or the whole from slices. `gradients`: what is gathered in front of a block is its output gradient.
void exchange(const World& world, const std::vector<Worker*>& members, const graph::Operation& operation,
              bool gradients);

/// All-gather of a unit's weights over the data group.
void restore(const std::vector<Worker*>& members, const graph::Operation& operation);

/// All-reduce or reduce-scatter of a unit's gradients over the data group.
void reduce(const std::vector<Worker*>& members, const graph::Operation& operation);

/// Sums the gradients of the table and of its copy in the head.
void sum_tables(const std::vector<Worker*>& members);

/// Sums the gradients of parameters that every tensor rank holds in full.
void sum_replicated(const std::vector<Worker*>& members, int unit);

/// Of the gradients that no other rank of the replica counts.
/// @throws InternalError when a gradient is not complete
[[nodiscard]] double sum_of_squares(const World& world, Worker& worker);

}  // namespace lamina::validate::numeric
