#pragma once

#include <string>
#include <vector>

#include "validate/hardware_trace/byte_source.hpp"
#include "validate/hardware_trace/trace.hpp"

namespace lamina::validate::hardware_trace {

/// How the first line of the short form begins.
inline constexpr std::string_view kEventsFileHead = R"({"schema":"lamina.trace_events/1")";

/// Imported events in short form: gzip, one JSON value per line, as docs/hardware_traces.md says. Byte-identical for
/// equal traces; nothing that a RankTrace holds is lost.
[[nodiscard]] std::string to_events_file(const std::vector<RankTrace>& traces);

/// @throws ScenarioError with file and line: not the short form, damaged, numbers that do not fit
[[nodiscard]] std::vector<RankTrace> read_events_file(ByteSource& source);

}  // namespace lamina::validate::hardware_trace
