#include "tests/support/random_disturbances.hpp"

#include <algorithm>
#include <initializer_list>

namespace lamina::tests {
namespace {

int pick(std::mt19937& random, std::initializer_list<int> choices) {
  std::uniform_int_distribution<std::size_t> index(0, choices.size() - 1);
  return *(choices.begin() + index(random));
}

int below(std::mt19937& random, int count) {
  return std::uniform_int_distribution<int>(0, count - 1)(random);
}

int used_nodes(const scenario::Scenario& scenario) {
  const int per_node = scenario.cluster.node.devices;
  return (scenario.strategy.ranks() + per_node - 1) / per_node;
}

void add_slow_device(std::mt19937& random, scenario::Scenario& scenario) {
  const double factor = pick(random, {5, 12, 15, 20}) / 10.0;
  const int device = below(random, scenario.strategy.ranks());
  for (const scenario::SlowDevice& other : scenario.disturbances.slow_devices) {
    if (other.first_device == device) {
      return;
    }
  }
  scenario.disturbances.slow_devices.push_back({device, 1, factor});
}

void add_slow_link(std::mt19937& random, double step_s, scenario::Scenario& scenario) {
  scenario::SlowLink slow;
  slow.node = below(random, used_nodes(scenario));
  slow.port = below(random, scenario.cluster.node.nics);
  const double share = pick(random, {0, 10, 50}) / 100.0;
  switch (pick(random, {0, 1, 2})) {
    case 0:
      slow.profile = {{Seconds(0), share + 0.1}};
      break;
    case 1:
      slow.profile = {{Seconds(0), 1}, {Seconds(0.3 * step_s), share}, {Seconds(0.5 * step_s), 0.9}};
      break;
    default:
      slow.profile = {{Seconds(0), 1}, {Seconds(0.01 * step_s), share}};
      slow.period = Seconds(0.017 * step_s);
  }
  for (const scenario::SlowLink& other : scenario.disturbances.slow_links) {
    if (other.node == slow.node && other.port == slow.port) {
      return;
    }
  }
  scenario.disturbances.slow_links.push_back(slow);
}

/// At most one port of a node, so that each keeps one.
void add_failed_port(std::mt19937& random, scenario::Scenario& scenario) {
  const int node = below(random, used_nodes(scenario));
  const int port = below(random, scenario.cluster.node.nics);
  auto& failed = scenario.disturbances.failed_ports;
  const bool taken = std::any_of(failed.begin(), failed.end(), [&](const auto& other) { return other.node == node; });
  if (scenario.cluster.node.nics > 1 && !taken) {
    failed.push_back({node, port});
  }
}

void add_host_delay(std::mt19937& random, double step_s, scenario::Scenario& scenario) {
  const int every = pick(random, {1, 2, 3, 5});
  const int device = below(random, scenario.strategy.ranks());
  auto& delays = scenario.disturbances.host_delays;
  if (std::none_of(delays.begin(), delays.end(), [&](const auto& other) { return other.device == device; })) {
    delays.push_back({device, Seconds(1e-3 * step_s), every});
  }
}

}  // namespace

void add_disturbance(std::mt19937& random, DisturbanceKind kind, double step_s, scenario::Scenario& scenario) {
  switch (kind) {
    case DisturbanceKind::kSlowDevice:
      add_slow_device(random, scenario);
      break;
    case DisturbanceKind::kSlowLink:
      add_slow_link(random, step_s, scenario);
      break;
    case DisturbanceKind::kFailedPort:
      add_failed_port(random, scenario);
      break;
    case DisturbanceKind::kHostDelay:
      add_host_delay(random, step_s, scenario);
      break;
  }
}

void add_random_disturbances(std::mt19937& random, double step_s, scenario::Scenario& scenario) {
  const int count = pick(random, {1, 2, 3, 4});
  for (int i = 0; i < count; ++i) {
    add_disturbance(random, static_cast<DisturbanceKind>(below(random, kDisturbanceKinds)), step_s, scenario);
  }
}

}  // namespace lamina::tests
