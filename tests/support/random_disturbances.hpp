#pragma once

#include <random>

#include "sim/scenario/scenario.hpp"

namespace lamina::tests {

/// The kinds of disturbances that change a step (jitter is drawn per repeat).
enum class DisturbanceKind { kSlowDevice, kSlowLink, kFailedPort, kHostDelay };

inline constexpr int kDisturbanceKinds = 4;

/// Adds one disturbance of a kind at a place of `scenario`'s cluster: devices that the strategy uses, ports of their
/// nodes. `step_s` scales delays and profiles. Nothing is added where the cluster leaves no choice (a failed port in
/// nodes of one).
void add_disturbance(std::mt19937& random, DisturbanceKind kind, double step_s, scenario::Scenario& scenario);

/// Adds one to four disturbances of any kinds, on different things.
void add_random_disturbances(std::mt19937& random, double step_s, scenario::Scenario& scenario);

}  // namespace lamina::tests
