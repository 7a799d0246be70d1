#pragma once

#include <random>
#include <string>

#include "sim/scenario/scenario.hpp"

namespace lamina::tests {

/// A small dense model on a small cluster: 8 layers, four micro-batches, nodes of four devices with a port each, links
/// slow enough that communication matters. Parallel sizes are 1; callers change what they test.
[[nodiscard]] scenario::Scenario small_scenario();

/// Launches cost the hosts nothing.
void free_hosts(scenario::Scenario& scenario);

/// The schedule with the defaults of its parameters.
[[nodiscard]] scenario::PluginChoice choose_schedule(const std::string& name);

/// A pipeline whose layers take 1 s forward and 1 s for either gradient, on a network that does nothing but delay each
/// message by `delay` seconds; 1F1B, which callers change.
[[nodiscard]] scenario::Scenario delayed_scenario(int ranks, int layers, double delay);

/// Up to 64 ranks; sharding, overlap, recomputation, placement, topology, offload, and one of accumulate, gpipe,
/// one_forward_one_backward and layered_modular: a legal mixture drawn from `random`.
[[nodiscard]] scenario::Scenario random_scenario(std::mt19937& random);

/// Links with protocols of which each is the fastest for some payloads, and an algorithm that has to be chosen or is
/// made by trees or switches.
void draw_protocols(scenario::Scenario& scenario, std::mt19937& random);

}  // namespace lamina::tests
