#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "validate/hardware_trace/clocks.hpp"
#include "validate/hardware_trace/summary.hpp"
#include "validate/hardware_trace/trace.hpp"

namespace lamina::validate::hardware_trace {

/// What `lamina trace import` answers about the ranks of one run.
struct ImportReport {
  std::vector<RankSummary> ranks;
  std::vector<ClockOffset> clocks;  ///< [rank]
  std::vector<WaitingRow> waiting;
  std::int64_t matched = 0;  ///< collectives and messages found in several ranks
  std::int64_t alone = 0;    ///< communication kernels without counterpart
  std::vector<std::string> uneven;
};

/// Matches the communication of all ranks and puts them on one clock, in place.
[[nodiscard]] ImportReport make_report(std::vector<RankTrace>& traces);

/// Tables of at most 80 columns. `colour`: ANSI escapes.
[[nodiscard]] std::string to_console(const ImportReport& report, bool colour);

/// JSON document, schema "lamina.trace_import/1" (docs/hardware_traces.md).
[[nodiscard]] std::string to_json(const ImportReport& report);

/// One header line; one row per rank, units in the column names.
[[nodiscard]] std::string to_csv(const ImportReport& report);

}  // namespace lamina::validate::hardware_trace
