#include "validate/hardware_trace/builder.hpp"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "validate/hardware_trace/byte_source.hpp"
#include "validate/hardware_trace/classify.hpp"
#include "validate/hardware_trace/numbers.hpp"

namespace lamina::validate::hardware_trace {
namespace {

/// Index of the last range that begins at or before `at_ns` and holds it; -1: none. Of nested ranges the innermost one
/// within a few ranges counts.
template <class Range>
std::int32_t range_at(const std::vector<Range>& ranges, std::int64_t at_ns) {
  constexpr int kDepth = 8;
  auto found =
      std::partition_point(ranges.begin(), ranges.end(), [&](const Range& range) { return range.start_ns <= at_ns; });
  for (int depth = 0; depth < kDepth && found != ranges.begin(); ++depth) {
    --found;
    if (at_ns < found->end_ns) {
      return static_cast<std::int32_t>(found - ranges.begin());
    }
  }
  return -1;
}

template <class Range>
void sort_by_start(std::vector<Range>& ranges) {
  std::stable_sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) {
    return std::pair(a.start_ns, -a.end_ns) < std::pair(b.start_ns, -b.end_ns);
  });
}

}  // namespace

Builder::Builder(std::string file, Format format, Limits limits) : limits_(limits) {
  trace_.file = std::move(file);
  trace_.format = format;
}

void Builder::check_room(std::size_t size) const {
  if (size >= limits_.events) {
    refuse(trace_.file, fmt::format("The trace holds more than {} events of one kind.", limits_.events), {},
           "fewer profiled steps");
  }
}

NameId Builder::intern(std::string_view name) {
  const auto [found, is_new] = ids_.try_emplace(std::string(name), static_cast<NameId>(trace_.names.size()));
  if (is_new) {
    name_bytes_ += name.size();
    if (trace_.names.size() >= limits_.names || name_bytes_ > limits_.name_bytes) {
      refuse(trace_.file, fmt::format("The trace holds more than {} different names, or {} bytes of them.",
                                      limits_.names, limits_.name_bytes));
    }
    trace_.names.emplace_back(name);
  }
  return found->second;
}

void Builder::add(const Event& event, std::int64_t external_id) {
  check_room(trace_.events.size());
  if (event.kind == EventClass::kCommunication) {
    waiting_.emplace_back(static_cast<std::uint32_t>(trace_.events.size()), external_id);
  }
  trace_.events.push_back(event);
}

void Builder::add(Event event, const Communication& detail) {
  check_room(trace_.events.size());
  event.detail = static_cast<std::int32_t>(trace_.communications.size());
  trace_.communications.push_back(detail);
  trace_.events.push_back(event);
}

void Builder::describe_launch(std::int64_t external_id, const Communication& detail) {
  check_room(described_.size());
  described_.try_emplace(external_id, detail);
}

void Builder::add_launch(std::uint32_t correlation, std::int64_t at_ns) {
  check_room(launches_.size());
  launches_.push_back({at_ns, correlation});
}

void Builder::add_action(const Action& action) {
  check_room(trace_.actions.size());
  trace_.actions.push_back(action);
}

void Builder::add_step(const Step& step) {
  constexpr std::size_t kMostSteps = 32000;  // Event::step has 16 bits
  if (trace_.steps.size() < kMostSteps) {
    trace_.steps.push_back(step);
  }
}

void Builder::join_details() {
  for (const auto& [index, external_id] : waiting_) {
    Event& event = trace_.events[index];
    Communication detail;
    const auto found = described_.find(external_id);
    if (external_id >= 0 && found != described_.end()) {
      detail = found->second;
    } else {
      detail.name = collective_of(trace_.name_of(event.name));
    }
    event.detail = static_cast<std::int32_t>(trace_.communications.size());
    trace_.communications.push_back(detail);
  }
  waiting_.clear();
  described_.clear();
}

void Builder::assign_ranges() {
  sort_by_start(trace_.actions);
  sort_by_start(trace_.steps);
  trace_.steps.erase(std::unique(trace_.steps.begin(), trace_.steps.end()), trace_.steps.end());
  if (trace_.actions.empty() && trace_.steps.empty()) {
    return;
  }
  std::sort(launches_.begin(), launches_.end(), [](const Launch& a, const Launch& b) {
    return std::pair(a.correlation, a.at_ns) < std::pair(b.correlation, b.at_ns);
  });
  for (Event& event : trace_.events) {
    std::int64_t at = event.start_ns;
    const auto launch = std::partition_point(launches_.begin(), launches_.end(),
                                             [&](const Launch& each) { return each.correlation < event.correlation; });
    if (event.correlation != 0 && launch != launches_.end() && launch->correlation == event.correlation) {
      at = launch->at_ns;
    }
    event.action = range_at(trace_.actions, at);
    event.step = static_cast<std::int16_t>(range_at(trace_.steps, at));
  }
  launches_.clear();
  launches_.shrink_to_fit();
}

void Builder::shift(std::int64_t base_ns) {
  trace_.base_ns = base_ns;
  const auto moved = [&](std::int64_t date) {
    if (date + base_ns < kEarliestNs || date + base_ns > kLatestNs) {
      refuse(trace_.file, "An event has a date that no profiler writes.", fmt::format("{} ns", date + base_ns),
             "nanoseconds since 1970, or from the start of the recording");
    }
    return date + base_ns;
  };
  for (Event& event : trace_.events) {
    event.start_ns = moved(event.start_ns);
  }
  for (Action& action : trace_.actions) {
    action.start_ns = moved(action.start_ns);
    action.end_ns += base_ns;
  }
  for (Step& step : trace_.steps) {
    step.start_ns = moved(step.start_ns);
    step.end_ns += base_ns;
  }
}

RankTrace Builder::finish(std::int64_t base_ns) {
  join_details();
  assign_ranges();
  shift(base_ns);
  std::stable_sort(trace_.events.begin(), trace_.events.end(), [](const Event& a, const Event& b) {
    return std::tuple(a.start_ns, a.stream, a.duration_ns) < std::tuple(b.start_ns, b.stream, b.duration_ns);
  });
  return std::move(trace_);
}

}  // namespace lamina::validate::hardware_trace
