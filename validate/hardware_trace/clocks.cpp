#include "validate/hardware_trace/clocks.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <map>
#include <optional>
#include <utility>

namespace lamina::validate::hardware_trace {
namespace {

using Pair = std::pair<std::uint32_t, std::uint32_t>;  ///< smaller index first

/// What one pair of ranks shares.
struct Joint {
  std::optional<std::int64_t> least_forth;  ///< smallest receive end less send start, from the first to the second
  std::optional<std::int64_t> least_back;
  std::vector<std::int64_t> ends;  ///< of collectives: the second's end less the first's
};

struct Estimate {
  std::int64_t offset_ns = 0;  ///< of the second against the first
  std::int64_t bound_ns = 0;
};

std::int64_t median(std::vector<std::int64_t> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

void keep_least(std::optional<std::int64_t>& least, std::int64_t value) {
  least = least ? std::min(*least, value) : value;
}

std::map<Pair, Joint> joints_of(const std::vector<RankTrace>& traces, const Matched& matched) {
  std::map<Pair, Joint> joints;
  const auto event_of = [&](const Part& part) -> const Event& { return traces[part.trace].events[part.event]; };
  for (const Instance& instance : matched.instances) {
    const Part& first = instance.parts.front();
    for (std::size_t k = 1; k < instance.parts.size(); ++k) {
      const Part& other = instance.parts[k];
      const bool swapped = other.trace < first.trace;
      Joint& joint = joints[{std::min(first.trace, other.trace), std::max(first.trace, other.trace)}];
      if (instance.message) {
        keep_least(swapped ? joint.least_back : joint.least_forth, event_of(other).end_ns() - event_of(first).start_ns);
      } else {
        const std::int64_t later = event_of(other).end_ns() - event_of(first).end_ns();
        joint.ends.push_back(swapped ? -later : later);
      }
    }
  }
  return joints;
}

std::optional<Estimate> estimate_of(const Joint& joint) {
  std::optional<Estimate> result;
  if (joint.least_forth && joint.least_back) {
    result = Estimate{*joint.least_forth / 2 - *joint.least_back / 2,
                      std::max<std::int64_t>(0, *joint.least_forth / 2 + *joint.least_back / 2)};
  }
  if (!joint.ends.empty()) {
    const std::int64_t middle = median(joint.ends);
    std::vector<std::int64_t> distances;
    for (const std::int64_t end : joint.ends) {
      distances.push_back(std::abs(end - middle));
    }
    const std::int64_t bound = median(std::move(distances));
    if (!result || bound < result->bound_ns) {
      result = Estimate{middle, bound};
    }
  }
  return result;
}

}  // namespace

std::vector<ClockOffset> estimate_offsets(const std::vector<RankTrace>& traces, const Matched& matched) {
  std::vector<ClockOffset> result(traces.size());
  if (traces.empty()) {
    return result;
  }
  std::map<Pair, Estimate> estimates;
  for (const auto& [pair, joint] : joints_of(traces, matched)) {
    if (const auto estimate = estimate_of(joint)) {
      estimates.emplace(pair, *estimate);
    }
  }
  std::vector<char> known(traces.size(), 0);
  known.front() = 1;
  result.front().bound_ns = 0;
  while (true) {  // Prim's tree: the joint with the least bound that leads to a new rank
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    const std::pair<const Pair, Estimate>* best = nullptr;
    for (const auto& entry : estimates) {
      const auto& [pair, estimate] = entry;
      if (known[pair.first] != known[pair.second] && estimate.bound_ns < least) {
        least = estimate.bound_ns;
        best = &entry;
      }
    }
    if (best == nullptr) {
      return result;
    }
    const auto& [pair, estimate] = *best;
    const bool forth = known[pair.first] == 1;
    const ClockOffset& from = result[forth ? pair.first : pair.second];
    ClockOffset& to = result[forth ? pair.second : pair.first];
    constexpr std::int64_t kMost = 2'900'000'000'000'000'000;  // what two dates can differ by, and a little
    known[pair.first] = known[pair.second] = 1;
    if (from.bound_ns < 0 || std::abs(from.offset_ns / 2 + (forth ? 1 : -1) * (estimate.offset_ns / 2)) > kMost / 2 ||
        estimate.bound_ns > kMost) {
      continue;
    }
    to.offset_ns = from.offset_ns + (forth ? estimate.offset_ns : -estimate.offset_ns);
    to.bound_ns = std::min(kMost, from.bound_ns + estimate.bound_ns);
  }
}

void align(std::vector<RankTrace>& traces, std::vector<ClockOffset>& offsets) {
  for (std::size_t t = 0; t < traces.size(); ++t) {
    ClockOffset& clock = offsets[t];
    clock.corrected = clock.bound_ns >= 0 && std::abs(clock.offset_ns) > clock.bound_ns;
    if (!clock.corrected) {
      continue;
    }
    for (Event& event : traces[t].events) {
      event.start_ns -= clock.offset_ns;
    }
    for (Action& action : traces[t].actions) {
      action.start_ns -= clock.offset_ns;
      action.end_ns -= clock.offset_ns;
    }
    for (Step& step : traces[t].steps) {
      step.start_ns -= clock.offset_ns;
      step.end_ns -= clock.offset_ns;
    }
  }
}

Transfer transfer_of(const std::vector<RankTrace>& traces, const Instance& instance) {
  Transfer result{std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::min()};
  for (const Part& part : instance.parts) {
    const Event& event = traces[part.trace].events[part.event];
    result.start_ns = std::max(result.start_ns, event.start_ns);
    result.end_ns = std::max(result.end_ns, event.end_ns());
  }
  return result;
}

std::vector<WaitingRow> waiting_rows(const std::vector<RankTrace>& traces, const Matched& matched) {
  struct Samples {
    WaitingRow row;
    std::vector<std::int64_t> transfers;
    double waiting_s = 0;
    std::int64_t parts = 0;
  };

  constexpr double kNanosecond = 1e-9;
  std::map<std::pair<std::string, std::string>, Samples> by_kind;
  for (const Instance& instance : matched.instances) {
    Samples& samples = by_kind[{instance.name, instance.group}];
    samples.row.name = instance.name;
    samples.row.group = instance.group;
    ++samples.row.instances;
    samples.row.complete += instance.complete ? 1 : 0;
    const Transfer transfer = transfer_of(traces, instance);
    samples.transfers.push_back(transfer.end_ns - transfer.start_ns);
    for (const Part& part : instance.parts) {
      const std::int64_t waited = transfer.start_ns - traces[part.trace].events[part.event].start_ns;
      samples.waiting_s += static_cast<double>(waited) * kNanosecond;
      samples.row.most_waiting_s = std::max(samples.row.most_waiting_s, static_cast<double>(waited) * kNanosecond);
      ++samples.parts;
    }
  }
  std::vector<WaitingRow> rows;
  for (auto& [key, samples] : by_kind) {
    samples.row.transfer_s = static_cast<double>(median(std::move(samples.transfers))) * kNanosecond;
    samples.row.waiting_s = samples.waiting_s / static_cast<double>(samples.parts);
    rows.push_back(std::move(samples.row));
  }
  return rows;
}

}  // namespace lamina::validate::hardware_trace
