#pragma once

#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "sim/deployment/whole.hpp"
#include "sim/error/error.hpp"
#include "sim/fabric/fabric.hpp"
#include "sim/scenario/scenario.hpp"

/// From what a scenario says is wrong with its cluster (`disturb:`) to changes of the fabric and of the deployment.
namespace lamina::disturb {

/// What must be known before routes are made: devices of a failed port use the node's next port that is left (cyclic),
/// and a slow link can limit flows even where the topology proved that it never does.
/// @return Infeasible when ranks on several nodes are left without a way to each other: no port, or no plane in common
/// @throws ScenarioError when a slow link's name is none of the fabric's, or two entries name one link
[[nodiscard]] tl::expected<fabric::Fabric, error::Infeasible> change_fabric(fabric::Fabric fabric,
                                                                            const scenario::Scenario& scenario);

/// What is a matter of ranks and links: slowness, host delays, bandwidth over time (one Profile per content).
/// @param fabric  as change_fabric returned it
[[nodiscard]] deployment::Whole change_deployment(deployment::Whole whole, const fabric::Fabric& fabric,
                                                  const scenario::Scenario& scenario);

/// One sentence without full stop per disturbance, in the order slow devices, slow links, failed ports, host delays,
/// jitter: "slow device: device 12 computes 1.5 times as long".
[[nodiscard]] std::vector<std::string> describe(const scenario::Scenario& scenario);

/// Disturbances that change nothing because the strategy does not use what they touch, a sentence each.
/// @param whole  as change_deployment returned it
[[nodiscard]] std::vector<std::string> without_effect(const deployment::Whole& whole, const fabric::Fabric& fabric,
                                                      const scenario::Scenario& scenario);

}  // namespace lamina::disturb
