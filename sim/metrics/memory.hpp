#pragma once

#include <string>
#include <vector>

#include "sim/metrics/step.hpp"
#include "sim/report/report.hpp"

namespace lamina::metrics {

/// Peak memory of every rank of the deployment, bytes.
///
/// Memory is a function of time: what ends or starts at one moment (within 1e-9 of the step) counts together, so what
/// is given back at a moment is free for what is taken at it, and an operation without duration holds nothing. The peak
/// is the first of the highest values that memory keeps for any time; it is named after the compute operation that runs
/// then. `layers`: of the model. Time n log n in memory effects.
/// @throws InternalError with rank, category and bytes when a category does not return to its initial value
[[nodiscard]] std::vector<report::Memory> memory_of_ranks(const Step& step, int layers);

/// Why `memory` of pipeline rank `pipeline_rank` does not fit, as a sentence with the numbers in it; "" when it fits.
[[nodiscard]] std::string why_not_fit(const report::Memory& memory, double capacity_bytes, int pipeline_rank,
                                      const std::string& accelerator);

}  // namespace lamina::metrics
