#pragma once

#include <vector>

#include "validate/numeric/numeric_backend.hpp"
#include "validate/numeric/worker.hpp"

namespace lamina::validate::numeric {

/// What a rank has at the end of a step.
struct RankResult {
  std::vector<Unit> units;
  std::vector<std::vector<float>> gradients;  ///< [unit] Device::used_gradient
  std::vector<std::vector<float>> weights;    ///< [unit] Device::master
  double loss = 0;                            ///< summed over its tokens
  double norm = 0;                            ///< squared; 0: not summed
};

[[nodiscard]] RankResult result_of(const Worker& worker, double norm);

/// Puts the parts of all ranks together. Where several ranks hold the same value, the first counts and the differences
/// of the others are noted.
[[nodiscard]] Step gather_step(const World& world, const std::vector<RankResult>& ranks);

}  // namespace lamina::validate::numeric
