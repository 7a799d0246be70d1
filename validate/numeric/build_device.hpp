#pragma once

#include <vector>

#include "validate/numeric/facts.hpp"
#include "validate/numeric/worker.hpp"

namespace lamina::validate::numeric {

/// What a rank holds.
[[nodiscard]] std::vector<Unit> build_units(const World& world, const ProgramFacts& facts, int data, int tensor);

/// Whether the head of a stage has a projection of its own: not where a tied embedding is on the same rank.
[[nodiscard]] bool has_own_matrix(const World& world, int stage);

}  // namespace lamina::validate::numeric
