#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// The rows of a trace file that concern the pipeline.
namespace lamina::trace {

enum class EventKind : std::uint8_t {
  kForward,
  kBackward,
  kForwardSend,
  kForwardReceive,
  kBackwardSend,
  kBackwardReceive
};

inline constexpr std::size_t kEventKinds = 6;

struct Event {
  std::int64_t step = 0;
  int replica = 0;  ///< data-parallel rank
  int rank = 0;     ///< pipeline rank
  EventKind kind = EventKind::kForward;
  int chunk = 0;                  ///< computes: model chunk of the rank
  std::int64_t micro_batch = -1;  ///< computes
  std::int64_t sequence = -1;     ///< as written; -1: none
  double start_s = 0;
  double duration_s = 0;

  [[nodiscard]] double end_s() const { return start_s + duration_s; }
};

/// Reads a CSV file with a header line in either layout, told apart by its columns:
///  - dp_rank, stage, step, optype, start_ts, duration, mb_id (s), and seq_id, mc when present: a receive contains the
///    wait for its sender;
///  - process_name ("DP rank [0]"), thread_name ("PP rank 0, TP rank 0, compute"), step, op, start_us, dur_us, mb_id,
///    and seq_id, model_chunk when present: transfer time alone.
/// Fields may be quoted (RFC 4180). An optype that joins several ("forward-send-backward-recv") is each of them; types
/// outside the pipeline (collectives, optimizer) are left out. Lines that start with # before the header are comments.
/// @throws ScenarioError with line, column and what was read
[[nodiscard]] std::vector<Event> read_events(std::string_view text, const std::string& file);

}  // namespace lamina::trace
