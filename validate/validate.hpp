#pragma once

#include <string>

#include <tl/expected.hpp>

#include "sim/error/error.hpp"
#include "sim/pipeline/simulate.hpp"
#include "sim/report/validation.hpp"
#include "sim/scenario/scenario.hpp"

namespace lamina::validate {

/// Where the kernel times and links of a prediction come from.
enum class PredictBy {
  kMeasurements,  ///< micro-benchmarks before the step
  kScenario,      ///< its own cost model, accelerator and links, as `lamina run` takes them
};

struct Validated {
  report::Validation report;
  std::string perfetto;  ///< prediction and execution above each other; empty unless asked for
};

/// Executes the scenario's graph on virtual devices, `repeats` (>= 1) times, and compares it with its replay. The
/// network of virtual devices knows no contention: where transfers meet, the replay is slower, and a warning says so.
/// @return Infeasible as pipeline::prepare; for layouts of too many operations, and for collectives in message
/// form
[[nodiscard]] tl::expected<Validated, error::Infeasible> validate_virtual(const scenario::Scenario& scenario,
                                                                          const pipeline::Catalogs& catalogs,
                                                                          int repeats, bool perfetto = false);

}  // namespace lamina::validate
