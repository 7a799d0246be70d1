#include "sim/trace/events.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/catalog/catalog.hpp"
#include "sim/report/text.hpp"
#include "sim/scenario/fault.hpp"
#include "sim/trace/row_reader.hpp"

namespace lamina::trace {
namespace {

constexpr std::int64_t kMostRanks = 65535;
constexpr std::int64_t kMostChunks = 1000;
constexpr std::int64_t kLargestNumber = std::int64_t{1} << 52U;
constexpr double kLongest = 1e9;  // seconds: of an operation
constexpr double kLatest = 1e12;  // seconds: since any epoch

constexpr std::array<std::pair<std::string_view, EventKind>, 4> kMessages = {{
    {"forward-send", EventKind::kForwardSend},
    {"forward-recv", EventKind::kForwardReceive},
    {"backward-send", EventKind::kBackwardSend},
    {"backward-recv", EventKind::kBackwardReceive},
}};

/// Columns of a layout; -1: the file has none.
struct Layout {
  int replica = -1;
  int rank = -1;
  int step = -1;
  int type = -1;
  int start = -1;
  int duration = -1;
  int micro_batch = -1;
  int chunk = -1;
  int sequence = -1;
  bool named = false;  ///< replica and rank stand in names
  double unit_s = 1;
};

/// Names of the columns that a layout needs, in the order of the members of Layout, and of its optional ones.
struct LayoutNames {
  std::array<std::string_view, 7> needed;
  std::string_view chunk;
  bool named;
  double unit_s;
};

constexpr std::array<LayoutNames, 2> kLayouts = {{
    {{"dp_rank", "stage", "step", "optype", "start_ts", "duration", "mb_id"}, "mc", false, 1},
    {{"process_name", "thread_name", "step", "op", "start_us", "dur_us", "mb_id"}, "model_chunk", true, 1e-6},
}};

std::vector<std::string_view> missing(const RowReader& reader, const LayoutNames& names) {
  std::vector<std::string_view> result;
  std::copy_if(names.needed.begin(), names.needed.end(), std::back_inserter(result),
               [&](std::string_view name) { return reader.column(name) < 0; });
  return result;
}

Layout find_layout(const RowReader& reader, const std::string& file) {
  const auto fewest = std::min_element(kLayouts.begin(), kLayouts.end(), [&](const auto& a, const auto& b) {
    return missing(reader, a).size() < missing(reader, b).size();
  });
  const auto absent = missing(reader, *fewest);
  if (!absent.empty()) {
    constexpr std::size_t kShownColumns = 100;
    const std::string read = fmt::format("{}", fmt::join(reader.header(), ","));
    scenario::fail(
        {file, 1, 1}, "",
        {.problem = fmt::format("This is not a trace of a pipeline: there is no column {}.", fmt::join(absent, ", ")),
         .read = report::truncate(report::printable(read), kShownColumns),
         .allowed = fmt::format("columns {}; or {}", fmt::join(kLayouts[0].needed, ", "),
                                fmt::join(kLayouts[1].needed, ", "))});
  }
  std::array<int, 7> at{};
  std::transform(fewest->needed.begin(), fewest->needed.end(), at.begin(),
                 [&](std::string_view name) { return reader.column(name); });
  return {.replica = at[0],
          .rank = at[1],
          .step = at[2],
          .type = at[3],
          .start = at[4],
          .duration = at[5],
          .micro_batch = at[6],
          .chunk = reader.column(fewest->chunk),
          .sequence = reader.column("seq_id"),
          .named = fewest->named,
          .unit_s = fewest->unit_s};
}

/// The number after `word` in a name: 3 in "PP rank 3, TP rank 0" after "PP rank".
int number_after(const RowReader& reader, int column, std::string_view word) {
  const std::string_view text = reader.field(column);
  std::size_t at = text.find(word);
  int value = -1;
  if (at != std::string_view::npos) {
    at += word.size();
    at += std::min(text.substr(at).find_first_not_of(" ["), text.size() - at);
    for (; at < text.size() && text[at] >= '0' && text[at] <= '9' && value <= kMostRanks; ++at) {
      value = std::max(value, 0) * 10 + (text[at] - '0');
    }
  }
  if (value < 0 || value > kMostRanks) {
    reader.refuse(column, "There is no rank in this name.",
                  fmt::format("\"{} N\" with N from 0 to {}", word, kMostRanks));
  }
  return value;
}

/// Kinds that a type names: one compute, or the messages that it joins; none outside the pipeline.
std::vector<EventKind> kinds_of(std::string_view type) {
  if (type == "forward-compute") {
    return {EventKind::kForward};
  }
  if (type == "backward-compute") {
    return {EventKind::kBackward};
  }
  std::vector<EventKind> result;
  for (const auto& [name, kind] : kMessages) {
    if (type.find(name) != std::string_view::npos) {
      result.push_back(kind);
    }
  }
  return result;
}

Event read_event(const RowReader& reader, const Layout& layout, bool computes) {
  const auto whole = [&reader](int column, std::int64_t least, std::int64_t most) {
    return reader.integer(column, least, most);
  };
  Event event;
  event.step = whole(layout.step, -kLargestNumber, kLargestNumber);
  if (layout.named) {
    event.replica = number_after(reader, layout.replica, "DP rank");
    event.rank = number_after(reader, layout.rank, "PP rank");
  } else {
    event.replica = static_cast<int>(whole(layout.replica, 0, kMostRanks));
    event.rank = static_cast<int>(whole(layout.rank, 0, kMostRanks));
  }
  event.start_s = reader.number(layout.start) * layout.unit_s;
  event.duration_s = reader.number(layout.duration) * layout.unit_s;
  if (event.duration_s < 0 || event.duration_s > kLongest) {
    reader.refuse(layout.duration, "A duration is not negative, nor longer than 1e9 s.", "0 to 1e9 seconds");
  }
  if (std::abs(event.start_s) > kLatest) {
    reader.refuse(layout.start, "This is no time of a job.", "at most 1e12 seconds");
  }
  if (layout.sequence >= 0 && !reader.field(layout.sequence).empty()) {
    event.sequence = whole(layout.sequence, -kLargestNumber, kLargestNumber);
  }
  if (computes) {
    event.micro_batch = whole(layout.micro_batch, 0, kLargestNumber);
    if (layout.chunk >= 0 && !reader.field(layout.chunk).empty()) {
      event.chunk = static_cast<int>(std::max<std::int64_t>(0, whole(layout.chunk, -1, kMostChunks)));
    }
  }
  return event;
}

}  // namespace

std::vector<Event> read_events(std::string_view text, const std::string& file) {
  RowReader reader(text, file);
  const Layout layout = find_layout(reader, file);
  std::vector<Event> result;
  while (reader.next()) {
    const std::vector<EventKind> kinds = kinds_of(reader.field(layout.type));
    if (kinds.empty()) {
      continue;
    }
    const bool computes = kinds.front() == EventKind::kForward || kinds.front() == EventKind::kBackward;
    Event event = read_event(reader, layout, computes);
    for (const EventKind kind : kinds) {
      event.kind = kind;
      result.push_back(event);
    }
  }
  if (result.empty()) {
    scenario::fail({file, 0, 0}, "",
                   {.problem = "The file has no event of a pipeline.",
                    .allowed = "forward-compute, backward-compute, forward-send, forward-recv, backward-send, "
                               "backward-recv"});
  }
  return result;
}

}  // namespace lamina::trace
