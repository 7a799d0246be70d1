#pragma once

#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "sim/error/error.hpp"
#include "validate/hardware_trace/byte_source.hpp"
#include "validate/hardware_trace/events_file.hpp"
#include "validate/hardware_trace/import_report.hpp"
#include "validate/hardware_trace/nsight.hpp"
#include "validate/hardware_trace/read.hpp"

/// What must hold for any bytes given to the readers of hardware traces. Used by the fuzzers, and by unit tests on the
/// inputs that they found interesting.
namespace lamina::fuzz {

namespace hardware_trace = validate::hardware_trace;

/// "" when the ranks that were read are in order and every report of them can be written.
inline std::string disorder_of(std::vector<hardware_trace::RankTrace> traces) {
  for (const hardware_trace::RankTrace& trace : traces) {
    if (trace.events.empty()) {
      return "a rank without events";
    }
    for (const hardware_trace::Event& event : trace.events) {
      const bool communicates = event.kind == hardware_trace::EventClass::kCommunication;
      if (event.duration_ns < 0 || event.name >= trace.names.size()) {
        return "an event with a negative duration or no name";
      }
      if (communicates && (event.detail < 0 || static_cast<std::size_t>(event.detail) >= trace.communications.size())) {
        return "communication that is not described";
      }
    }
  }
  (void)hardware_trace::to_events_file(traces);
  const hardware_trace::ImportReport report = hardware_trace::make_report(traces);
  for (const hardware_trace::RankSummary& rank : report.ranks) {
    if (!(rank.busy_s <= rank.span_s * (1 + 1e-9)) || !(rank.exposed_s <= rank.communication_s * (1 + 1e-9))) {
      return "more busy than there is time";
    }
  }
  (void)hardware_trace::to_console(report, false);
  (void)hardware_trace::to_json(report);
  (void)hardware_trace::to_csv(report);
  return "";
}

template <class Read>
std::string broken_trace_promise(Read read, bool* accepted) {
  try {
    std::string fault = disorder_of(read());
    if (accepted != nullptr) {
      *accepted = true;
    }
    return fault;
  } catch (const error::ScenarioError& refused) {
    const bool names_the_file = refused.fault().location.file.rfind("trace", 0) == 0;
    return !names_the_file || refused.fault().problem.empty() ? "a refusal without file or reason" : "";
  }
}

/// JSON, archives, timelines of Lamina and short forms, by their first bytes.
inline std::string broken_stream_promise(std::string_view bytes, bool* accepted = nullptr) {
  return broken_trace_promise(
      [&] {
        const auto source = hardware_trace::open_bytes(bytes, "trace");
        return hardware_trace::read_stream(*source);
      },
      accepted);
}

/// Exports of Nsight Systems.
inline std::string broken_nsight_promise(std::string_view bytes, bool* accepted = nullptr) {
  constexpr hardware_trace::Limits kLimits{10000, 10000, 1U << 20U};
  return broken_trace_promise([&] { return hardware_trace::read_nsight_bytes(bytes, "trace", kLimits); }, accepted);
}

}  // namespace lamina::fuzz
