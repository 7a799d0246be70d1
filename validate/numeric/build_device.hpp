#pragma once

#include "validate/numeric/facts.hpp"
#include "validate/numeric/worker.hpp"

namespace lamina::validate::numeric {

/// The memories of a rank, as they are before the step.
[[nodiscard]] Device build_device(const World& world, const ProgramFacts& facts, int data, int tensor);

/// Whether the head of a stage has a projection of its own: not where a tied embedding is on the same rank.
[[nodiscard]] bool has_own_matrix(const World& world, int stage);

}  // namespace lamina::validate::numeric
