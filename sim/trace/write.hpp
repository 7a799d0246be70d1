#pragma once

#include <string>
#include <vector>

#include "sim/trace/comparison.hpp"

namespace lamina::trace {

/// Text of at most 80 columns: errors, order, where time goes, what stragglers and imbalance cost, the steps that
/// differ most. `colour`: ANSI escapes.
[[nodiscard]] std::string to_console(const Comparison& comparison, bool colour);

/// JSON document, schema "lamina.trace_replay/1" (see docs/trace-replay.md): everything, every step.
[[nodiscard]] std::string to_json(const Comparison& comparison);

/// One header line; one row per job, step, replica and pipeline rank, units in the column names.
[[nodiscard]] std::string to_csv(const std::vector<Comparison>& comparisons);

[[nodiscard]] const char* name_of(PointToPoint messages);

}  // namespace lamina::trace
