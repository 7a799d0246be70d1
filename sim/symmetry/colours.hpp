#pragma once

#include "sim/deployment/whole.hpp"
#include "sim/symmetry/partition.hpp"

namespace lamina::symmetry {

/// Coarsest partition found by colour refinement: two ranks (links, paths, ...) share a class only if they look alike
/// and are connected to equally many members of every class. Accepted when two rounds in a row under different hashes
/// split nothing; never limiting links do not split.
[[nodiscard]] Partition refine(const deployment::Whole& whole);

}  // namespace lamina::symmetry
