#pragma once

#include "sim/trace/comparison.hpp"

namespace lamina::trace {

/// Fills what follows from `comparison.steps`: errors, stages, critical rank, straggler, costs.
void summarise(const Job& job, Comparison& comparison);

}  // namespace lamina::trace
