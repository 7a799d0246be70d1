#pragma once

#include <string_view>
#include <vector>

#include "validate/hardware_trace/builder.hpp"
#include "validate/hardware_trace/byte_source.hpp"
#include "validate/hardware_trace/trace.hpp"

namespace lamina::validate::hardware_trace {

/// Whether a file that begins so can be a trace in Perfetto's binary format.
[[nodiscard]] bool is_perfetto(std::string_view head);

/// Reads a timeline that report::to_perfetto wrote (NAME.perfetto-trace of `lamina run -o`): one RankTrace per process,
/// its events by stream and in stream order. Times are nanoseconds from the start of the step.
/// @throws ScenarioError with file and byte: damaged, or a Perfetto trace of something else
[[nodiscard]] std::vector<RankTrace> read_timeline(ByteSource& source, Limits limits = {});

}  // namespace lamina::validate::hardware_trace
