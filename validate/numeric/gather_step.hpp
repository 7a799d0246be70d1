#pragma once

#include <vector>

#include "validate/numeric/numeric_backend.hpp"
#include "validate/numeric/worker.hpp"

namespace lamina::validate::numeric {

/// Puts the parts of all ranks together. Where several ranks hold the same value, the first counts and the differences
/// of the others are noted.
[[nodiscard]] Step gather_step(const World& world, const std::vector<Worker>& workers);

}  // namespace lamina::validate::numeric
