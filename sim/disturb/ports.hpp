#pragma once

#include <tl/expected.hpp>

#include "sim/error/error.hpp"
#include "sim/fabric/fabric.hpp"
#include "sim/scenario/scenario.hpp"

namespace lamina::disturb {

/// Gives devices of failed ports the next port of their node, in place.
/// @return Infeasible when that cuts ranks off from each other
[[nodiscard]] tl::expected<void, error::Infeasible> reroute(fabric::Fabric& fabric, const scenario::Scenario& scenario);

}  // namespace lamina::disturb
