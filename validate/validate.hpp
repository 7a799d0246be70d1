#pragma once

#include <tl/expected.hpp>

#include "sim/error/error.hpp"
#include "sim/pipeline/simulate.hpp"
#include "sim/report/validation.hpp"
#include "sim/scenario/scenario.hpp"

namespace lamina::validate {

/// Executes the scenario's graph on virtual devices, `repeats` (>= 1) times, and compares it with its replay. The
/// network of virtual devices knows no contention: where transfers meet, the replay is slower, and a warning says so.
/// @return Infeasible as pipeline::prepare; for layouts of too many operations, and for collectives in message
/// form
[[nodiscard]] tl::expected<report::Validation, error::Infeasible> validate_virtual(const scenario::Scenario& scenario,
                                                                                   const pipeline::Catalogs& catalogs,
                                                                                   int repeats);

}  // namespace lamina::validate
