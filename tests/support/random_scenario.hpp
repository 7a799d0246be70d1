#pragma once

#include <random>

#include "sim/scenario/scenario.hpp"

namespace lamina::tests {

/// A small dense model on a small cluster: 8 layers, four micro-batches, nodes of four devices with a port each, links
/// slow enough that communication matters. Parallel sizes are 1; callers change what they test.
[[nodiscard]] scenario::Scenario small_scenario();

/// Up to 64 ranks; sharding, overlap, recomputation, placement, topology, offload, and one of accumulate, gpipe,
/// one_forward_one_backward and layered_modular: a legal mixture drawn from `random`.
[[nodiscard]] scenario::Scenario random_scenario(std::mt19937& random);

}  // namespace lamina::tests
