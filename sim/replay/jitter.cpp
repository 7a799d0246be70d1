#include "sim/replay/jitter.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace lamina::replay {
namespace {

/// splitmix64's finaliser.
std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31U);
}

/// In (0, 1), never an end.
double uniform(std::uint64_t hash) {
  return (static_cast<double>(hash >> 11U) + 0.5) * 0x1p-53;
}

}  // namespace

double factor_of(const Jitter& jitter, const deployment::Rank& rank, std::uint32_t operation) {
  std::uint64_t hash = mix(jitter.seed);
  for (const std::uint64_t part :
       {jitter.repeat, static_cast<std::uint64_t>(rank.program), static_cast<std::uint64_t>(rank.data),
        static_cast<std::uint64_t>(rank.tensor), static_cast<std::uint64_t>(operation)}) {
    hash = mix(hash ^ mix(part));
  }
  const double first = uniform(hash);
  const double deviation = jitter.standard_deviation;
  if (jitter.distribution == scenario::JitterDistribution::kExponential) {
    return std::min(kLargestJitterFactor, 1 - deviation * std::log(first));
  }
  const double variance = std::log1p(deviation * deviation);
  const double normal =
      std::sqrt(-2 * std::log(first)) * std::cos(2 * std::numbers::pi * uniform(mix(hash ^ 0x6a09e667f3bcc909U)));
  return std::clamp(std::exp(std::sqrt(variance) * normal - variance / 2), 1 / kLargestJitterFactor,
                    kLargestJitterFactor);
}

}  // namespace lamina::replay
