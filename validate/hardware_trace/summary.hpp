#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "validate/hardware_trace/trace.hpp"

/// Where the time of every recorded rank went.
namespace lamina::validate::hardware_trace {

struct Amount {
  std::int64_t count = 0;
  double seconds = 0;  ///< sum of durations; may exceed the span, events of several streams overlap
};

/// Communication of one kind within one group.
struct CollectiveRow {
  std::string name;   ///< "all_reduce"
  std::string group;  ///< as the trace calls it; "": not said
  std::int32_t group_size = 0;
  std::int64_t count = 0;
  std::int64_t sized = 0;  ///< of them: with a known size
  double bytes = 0;        ///< sum of the known sizes
  double seconds = 0;      ///< sum of durations, waiting included
};

struct RankSummary {
  std::string file;
  std::string title;
  Format format = Format::kKineto;
  std::int32_t rank = -1;
  std::int32_t world_size = -1;
  std::int32_t device = -1;
  std::string device_name;
  std::int64_t records = 0;
  std::int64_t events = 0;
  double span_s = 0;           ///< first start to last end of device events
  double busy_s = 0;           ///< at least one event ran (union of intervals)
  double compute_s = 0;        ///< union of compute kernels
  double communication_s = 0;  ///< union of communication
  double exposed_s = 0;        ///< communication without compute beside it
  std::int64_t steps = 0;      ///< ProfilerStep ranges
  double step_s = 0;           ///< their median length; 0 without
  std::int64_t actions = 0;    ///< of a pipeline, announced by ranges
  std::array<Amount, kEventClasses> classes{};
  std::vector<CollectiveRow> collectives;               ///< by name and group
  std::array<std::int64_t, kDetailSources> found_in{};  ///< communication kernels by where they are described
  std::int64_t communications = 0;
  std::int64_t sized = 0;  ///< of them: with a known size
};

[[nodiscard]] RankSummary summarise(const RankTrace& trace);

}  // namespace lamina::validate::hardware_trace
