#pragma once

#include <vector>

#include "sim/fabric/fabric.hpp"
#include "sim/scenario/scenario.hpp"

namespace lamina::disturb {

/// Links of each entry of `disturbances.slow_links`: both directions of a port, or the one that is named. One pass over
/// the fabric's names when any entry has one.
/// @throws ScenarioError when there is no link of that name, or two entries name one link
[[nodiscard]] std::vector<std::vector<fabric::LinkId>> slow_links(const fabric::Fabric& fabric,
                                                                  const scenario::Scenario& scenario);

}  // namespace lamina::disturb
