#pragma once

#include "validate/hardware_trace/builder.hpp"
#include "validate/hardware_trace/byte_source.hpp"
#include "validate/hardware_trace/trace.hpp"

namespace lamina::validate::hardware_trace {

/// Reads a trace of PyTorch's profiler (Kineto, Chrome's JSON format): an object with "traceEvents", or the array
/// itself. The text is streamed: memory is what the kept events need (about 60 bytes per kernel or copy).
/// @throws ScenarioError with file and byte: no JSON, an event of a device without date or with a negative duration,
/// numbers that do not fit, no event of a device at all
[[nodiscard]] RankTrace read_kineto(ByteSource& source, Limits limits = {});

}  // namespace lamina::validate::hardware_trace
