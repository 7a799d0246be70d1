#pragma once

#include "sim/metrics/step.hpp"
#include "sim/report/report.hpp"

namespace lamina::metrics {

/// What the step time consists of along one chain of operations in which each starts when the one before it ends.
///
/// Walks back from the operation that ends the step: to the predecessor (stream or dependency) that ended last, of this
/// rank or, for a message or a collective, of any rank that takes part. A stretch that no predecessor explains is
/// charged to the operation that waited. The parts add up to the step time. Among predecessors that ended together a
/// compute operation comes first, then this rank's own. Time linear in operations and dependencies.
/// @throws InternalError when the walk comes back to an operation (operations that wait for each other)
[[nodiscard]] report::CriticalPath critical_path(const Step& step);

}  // namespace lamina::metrics
