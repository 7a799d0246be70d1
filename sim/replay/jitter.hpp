#pragma once

#include <cstdint>

#include "sim/deployment/deployment.hpp"
#include "sim/scenario/disturbance.hpp"

namespace lamina::replay {

/// One repeat of a step whose operations take a random factor longer or shorter.
struct Jitter {
  scenario::JitterDistribution distribution = scenario::JitterDistribution::kLogNormal;
  double standard_deviation = 0;  ///< of the factor
  std::uint64_t seed = 1;
  std::uint64_t repeat = 0;
};

/// Factors are cut off here, so that bytes stay within the simulator's whole numbers.
inline constexpr double kLargestJitterFactor = 1048576;

/// Factor of one operation of one rank: a hash of (seed, repeat, program, data, tensor, operation) turned into the
/// distribution, so that it depends on nothing that happened before. Log-normal by Box and Muller (1958) with mean 1;
/// exponential by inversion, 1 + a tail of the mean `standard_deviation`.
[[nodiscard]] double factor_of(const Jitter& jitter, const deployment::Rank& rank, std::uint32_t operation);

}  // namespace lamina::replay
