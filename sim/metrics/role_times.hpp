#pragma once

#include <vector>

#include "sim/metrics/step.hpp"
#include "sim/report/report.hpp"

namespace lamina::metrics {

/// Where the step time of every rank goes, and the two bubble fractions.
struct StepTimes {
  std::vector<report::RoleTimes> ranks;  ///< [deployment rank]
  double bubble_makespan_fraction = 0;
  double bubble_span_fraction = 0;
};

/// Attributes the step time of each rank to compute, exposed transfers, waiting for peers (bubble) and the tail, so
/// that the parts of a rank add up to the step time. The rules and the definitions of both bubble fractions are in
/// docs/metrics.md. Time linear in operations and dependencies.
[[nodiscard]] StepTimes role_times(const Step& step);

}  // namespace lamina::metrics
