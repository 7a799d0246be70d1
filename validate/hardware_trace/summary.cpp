#include "validate/hardware_trace/summary.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "validate/hardware_trace/intervals.hpp"

namespace lamina::validate::hardware_trace {
namespace {

constexpr double kNanoseconds = 1e9;

double seconds(std::int64_t ns) {
  return static_cast<double>(ns) / kNanoseconds;
}

void add_times(const RankTrace& trace, RankSummary& into) {
  std::vector<Interval> all;
  std::vector<Interval> compute;
  std::vector<Interval> communication;
  std::int64_t first = trace.events.front().start_ns;
  std::int64_t last = trace.events.front().end_ns();
  for (const Event& event : trace.events) {
    const Interval interval{event.start_ns, event.end_ns()};
    first = std::min(first, interval.first);
    last = std::max(last, interval.second);
    all.push_back(interval);
    if (is_kernel_compute(event.kind)) {
      compute.push_back(interval);
    } else if (event.kind == EventClass::kCommunication) {
      communication.push_back(interval);
    }
    Amount& amount = into.classes.at(static_cast<std::size_t>(event.kind));
    ++amount.count;
    amount.seconds += seconds(event.duration_ns);
  }
  compute = united(std::move(compute));
  communication = united(std::move(communication));
  into.span_s = seconds(last - first);
  into.busy_s = seconds(length(united(std::move(all))));
  into.compute_s = seconds(length(compute));
  into.communication_s = seconds(length(communication));
  into.exposed_s = into.communication_s - seconds(common_length(compute, communication));
}

void add_collectives(const RankTrace& trace, RankSummary& into) {
  std::map<std::tuple<std::string, std::string, std::int32_t>, CollectiveRow> rows;
  for (const Event& event : trace.events) {
    if (event.kind != EventClass::kCommunication || event.detail < 0) {
      continue;
    }
    const Communication& detail = trace.communications.at(static_cast<std::size_t>(event.detail));
    const std::string name(word_for(detail.name));
    const std::string group(trace.name_of(detail.group));
    CollectiveRow& row = rows[{name, group, detail.group_size}];
    row.name = name;
    row.group = group;
    row.group_size = detail.group_size;
    ++row.count;
    row.sized += detail.bytes > 0 ? 1 : 0;
    row.bytes += detail.bytes;
    row.seconds += seconds(event.duration_ns);
    ++into.communications;
    into.sized += detail.bytes > 0 ? 1 : 0;
    ++into.found_in.at(static_cast<std::size_t>(detail.source));
  }
  for (auto& [key, row] : rows) {
    into.collectives.push_back(std::move(row));
  }
}

double median_step(const RankTrace& trace) {
  std::vector<double> lengths;
  for (const Step& step : trace.steps) {
    lengths.push_back(seconds(step.end_ns - step.start_ns));
  }
  if (lengths.empty()) {
    return 0;
  }
  std::sort(lengths.begin(), lengths.end());
  const std::size_t middle = lengths.size() / 2;
  return lengths.size() % 2 == 1 ? lengths[middle] : (lengths[middle - 1] + lengths[middle]) / 2;
}

}  // namespace

RankSummary summarise(const RankTrace& trace) {
  RankSummary result;
  result.file = trace.file;
  result.title = trace.title;
  result.format = trace.format;
  result.rank = trace.rank;
  result.world_size = trace.world_size;
  result.device = trace.device;
  result.device_name = trace.device_name;
  result.records = trace.records;
  result.events = static_cast<std::int64_t>(trace.events.size());
  result.steps = static_cast<std::int64_t>(trace.steps.size());
  result.actions = static_cast<std::int64_t>(trace.actions.size());
  result.step_s = median_step(trace);
  if (!trace.events.empty()) {
    add_times(trace, result);
    add_collectives(trace, result);
  }
  return result;
}

}  // namespace lamina::validate::hardware_trace
