#pragma once

#include <string>
#include <vector>

#include <fmt/format.h>

#include "validate/hardware_trace/byte_source.hpp"
#include "validate/hardware_trace/kineto.hpp"
#include "validate/hardware_trace/read.hpp"

/// Small traces of PyTorch's profiler, written by hand.
namespace lamina::validate::hardware_trace::testing {

/// One event; `arguments` without braces.
inline std::string event(const std::string& category, const std::string& name, const std::string& start_us,
                         const std::string& duration_us, const std::string& arguments = "") {
  return fmt::format(
      R"({{"ph": "X", "cat": "{}", "name": "{}", "pid": 0, "tid": 7, "ts": {}, "dur": {}, "args": {{{}}}}})", category,
      name, start_us, duration_us, arguments);
}

/// A whole trace; `head`: further members of the top object, each followed by a comma.
inline std::string kineto(const std::vector<std::string>& events, const std::string& head = "") {
  std::string text = fmt::format("{{{}\"traceEvents\": [", head);
  for (std::size_t i = 0; i < events.size(); ++i) {
    text += i > 0 ? ",\n" : "\n";
    text += events[i];
  }
  return text + "]}";
}

inline RankTrace read_text(const std::string& text) {
  const auto source = open_bytes(text, "trace.json");
  return read_stream(*source).front();
}

}  // namespace lamina::validate::hardware_trace::testing
