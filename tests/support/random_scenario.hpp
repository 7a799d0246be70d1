#pragma once

#include <random>

#include "sim/scenario/scenario.hpp"

namespace lamina::tests {

/// A small dense model on a small cluster: 8 layers, four micro-batches, one-GPU-per-NIC nodes of four devices,
/// one-level fabric with links slow enough that communication matters. Parallel sizes are 1; callers change what they
/// test.
[[nodiscard]] scenario::Scenario small_scenario();

/// Sizes up to 64 ranks, any schedule, sharding, placement, topology, offload: a legal mixture drawn from `random`.
[[nodiscard]] scenario::Scenario random_scenario(std::mt19937& random);

}  // namespace lamina::tests
