#pragma once

#include <string>

#include "sim/chakra/run_trace.hpp"

namespace lamina::chakra {

/// Text of at most 80 columns. `colour`: ANSI escapes.
[[nodiscard]] std::string to_console(const TraceReport& report, bool colour);

/// JSON document, schema "lamina.chakra_run/1" (docs/chakra.md), without the times of every rank.
[[nodiscard]] std::string to_json(const TraceReport& report);

/// One header line and one row per rank, units in the column names.
[[nodiscard]] std::string to_csv(const TraceReport& report);

/// Perfetto trace: a process for one rank of each class, named after its nodes; communication that overlaps stands on
/// several tracks.
[[nodiscard]] std::string to_perfetto(const TraceRun& run, const Trace& trace);

}  // namespace lamina::chakra
