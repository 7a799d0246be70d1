#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "perfetto_trace.pb.h"

/// Packets of one trace, appended to one string as they come; nothing else is kept.
namespace lamina::report {

/// Names of slice arguments, sent once and referred to by number.
enum class Argument : std::uint8_t { kPhase, kStage, kLayer, kMicroBatch, kBytes, kFlops };

class PacketWriter {
 public:
  explicit PacketWriter(std::string& out);

  /// A new process; returns its track.
  struct Process {
    std::uint64_t track = 0;
    int pid = 0;
  };

  [[nodiscard]] Process add_process(const std::string& name, const std::string& command_line);

  /// A new track of slices (shown as a thread of the process) or of counter values; returns it.
  [[nodiscard]] std::uint64_t add_stream(const Process& process, const std::string& name);
  [[nodiscard]] std::uint64_t add_counter(const Process& process, const std::string& name, bool bytes);

  /// The packet of a slice's beginning, to be filled with arguments and given to `write`. Valid until the next call.
  [[nodiscard]] perfetto::TrackEvent& begin_slice(std::uint64_t track, double time_s, std::string_view category);
  void write();

  void end_slice(std::uint64_t track, double time_s);
  void counter(std::uint64_t track, std::uint64_t time_ns, double value, bool bytes);

 private:
  void write_names();
  [[nodiscard]] perfetto::TrackEvent& start_event(std::uint64_t track, std::uint64_t time_ns,
                                                  perfetto::TrackEvent::Type type);
  void append(const perfetto::TracePacket& packet);

  std::string& out_;
  perfetto::TracePacket packet_;  ///< reused, so that its parts are allocated once
  std::uint64_t next_track_ = 1;
  int next_id_ = 1;
};

void add_argument(perfetto::TrackEvent& event, Argument name, std::int64_t value);
void add_argument(perfetto::TrackEvent& event, Argument name, double value);
void add_argument(perfetto::TrackEvent& event, Argument name, std::string_view value);

/// Whole nanoseconds; negative and not finite times are 0.
[[nodiscard]] std::uint64_t nanoseconds(double time_s);

}  // namespace lamina::report
