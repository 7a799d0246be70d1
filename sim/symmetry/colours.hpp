#pragma once

#include <cstdint>
#include <vector>

#include "sim/deployment/whole.hpp"

namespace lamina::symmetry {

/// Classes of an equitable partition, numbered by first member.
struct Partition {
  std::vector<std::int32_t> rank;
  std::vector<std::int32_t> channel;
  std::vector<std::int32_t> group;
  std::vector<std::int32_t> path;
  std::vector<std::int32_t> link;  ///< -1: no path uses it
  std::int32_t ranks = 0;
  std::int32_t channels = 0;
  std::int32_t groups = 0;
  std::int32_t paths = 0;
  std::int32_t links = 0;
};

/// Coarsest partition found by colour refinement: two ranks (links, paths, ...) share a class only if they look alike
/// and are connected to equally many members of every class. Accepted when two rounds in a row under different hashes
/// split nothing; never limiting links do not split.
[[nodiscard]] Partition refine(const deployment::Whole& whole);

}  // namespace lamina::symmetry
