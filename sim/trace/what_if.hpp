#pragma once

#include <vector>

#include "sim/trace/job.hpp"
#include "sim/units/median.hpp"

/// The same step with other times: what one kind of slowness costs.
namespace lamina::trace {

/// Every pass of a stage, and every message that it sends, takes the median of its direction over the replicas and
/// micro-batches of the step: no worker and no micro-batch differs from its like (Lin et al., "Understanding
/// Stragglers in Large Model Training Using What-if Analysis", OSDI 2025, replace durations likewise).
[[nodiscard]] std::vector<Times> without_stragglers(const std::vector<MeasuredReplica>& replicas);

/// `without_stragglers`, and each direction of compute takes the mean over the stages: the same work, dealt evenly.
[[nodiscard]] std::vector<Times> balanced(const std::vector<MeasuredReplica>& replicas);

using units::median;

}  // namespace lamina::trace
