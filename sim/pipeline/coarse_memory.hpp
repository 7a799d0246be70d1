#pragma once

#include "sim/graph/operation_graph.hpp"
#include "sim/timeline/timeline.hpp"

namespace lamina::pipeline {

/// Most bytes that a program holds at once, all categories together, if its operations run as `spans` says (one each).
/// Effects closer than 1e-9 of the step are one moment, as in the report's memory.
[[nodiscard]] double memory_peak(const graph::Program& program, const timeline::Span* spans, double step_s);

}  // namespace lamina::pipeline
