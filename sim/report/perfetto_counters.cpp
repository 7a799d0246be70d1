#include "sim/report/perfetto_counters.hpp"

#include <algorithm>

#include "sim/error/error.hpp"
#include "sim/report/names.hpp"
#include "sim/report/perfetto_packets.hpp"

namespace lamina::report {

namespace {

/// A change of a step function. `active` counts what contributes, so that an idle counter reads exactly 0 instead of
/// what rounding left over.
struct Change {
  std::uint64_t time_ns = 0;
  double amount = 0;
  int active = 0;
};

/// Sums changes in the order of their times; changes of one nanosecond become one sample, unchanged values none.
std::vector<Sample> accumulate(std::vector<Change> changes, double value) {
  std::stable_sort(changes.begin(), changes.end(),
                   [](const Change& a, const Change& b) { return a.time_ns < b.time_ns; });
  std::vector<Sample> samples = {{0, value}};
  int active = 0;
  for (std::size_t i = 0; i < changes.size();) {
    const std::uint64_t time_ns = changes[i].time_ns;
    for (; i < changes.size() && changes[i].time_ns == time_ns; ++i) {
      value += changes[i].amount;
      active += changes[i].active;
    }
    if (active == 0 && changes.front().active != 0) {
      value = 0;
    }
    if (samples.back().time_ns == time_ns) {
      samples.back().value = value;
    } else if (samples.back().value != value) {
      samples.push_back({time_ns, value});
    }
  }
  return samples;
}

/// Real bytes on each deployment link per step.
std::vector<double> bytes_per_link(const deployment::Deployment& deployment, const timeline::Timeline& timeline) {
  std::vector<double> path_bytes(deployment.paths.size());
  for (const timeline::Flow& flow : timeline.flows) {
    path_bytes.at(static_cast<std::size_t>(flow.path)) += flow.bytes;
  }
  std::vector<double> link_bytes(deployment.links.size());
  for (std::size_t path = 0; path < path_bytes.size(); ++path) {
    for (const collectives::LinkUse& use : deployment.paths[path].links) {
      const auto link = static_cast<std::size_t>(use.link);
      link_bytes.at(link) += path_bytes[path] * use.count * deployment.links.at(link).capacity_divisor;
    }
  }
  return link_bytes;
}

std::vector<Sample> load_over_time(const deployment::Deployment& deployment, const timeline::Timeline& timeline,
                                   std::int32_t link) {
  const double divisor = deployment.links[static_cast<std::size_t>(link)].capacity_divisor;
  std::vector<double> crossings(deployment.paths.size());
  for (std::size_t path = 0; path < crossings.size(); ++path) {
    for (const collectives::LinkUse& use : deployment.paths[path].links) {
      crossings[path] += use.link == link ? use.count * divisor : 0;
    }
  }
  std::vector<Change> changes;
  for (const timeline::Flow& flow : timeline.flows) {
    const double factor = crossings[static_cast<std::size_t>(flow.path)];
    const std::uint64_t start = nanoseconds(flow.start);
    const std::uint64_t end = nanoseconds(flow.end);
    if (factor > 0 && end > start) {
      const double rate = flow.bytes * factor / (flow.end - flow.start);
      changes.push_back({start, rate, 1});
      changes.push_back({end, -rate, -1});
    }
  }
  return accumulate(std::move(changes), 0);
}

void check_paths(const deployment::Deployment& deployment, const timeline::Timeline& timeline) {
  for (const timeline::Flow& flow : timeline.flows) {
    if (flow.path < 0 || static_cast<std::size_t>(flow.path) >= deployment.paths.size()) {
      throw error::InternalError("trace: a flow over a path that the deployment lacks");
    }
  }
}

}  // namespace

std::vector<Sample> memory_over_time(const graph::Program& program, const std::vector<timeline::Span>& spans,
                                     graph::MemoryCategory category) {
  std::vector<Change> changes;
  for (const graph::MemoryEffect& effect : program.memory_effects) {
    if (effect.category == category && effect.bytes != 0) {
      const timeline::Span& span = spans.at(effect.operation);
      changes.push_back({nanoseconds(effect.at_end ? span.end : span.start), effect.bytes, 0});
    }
  }
  const double resident = program.initial_memory[index_of(category)];
  if (changes.empty() && resident == 0) {
    return {};
  }
  return accumulate(std::move(changes), resident);
}

std::vector<LinkLoadOverTime> busiest_links_over_time(const deployment::Deployment& deployment,
                                                      const timeline::Timeline& timeline) {
  check_paths(deployment, timeline);
  const std::vector<double> bytes = bytes_per_link(deployment, timeline);
  std::vector<LinkLoadOverTime> result(fabric::kLinkClasses);
  for (std::size_t link = 0; link < bytes.size(); ++link) {
    LinkLoadOverTime& busiest = result[index_of(deployment.links[link].link_class)];
    const double most = busiest.link < 0 ? 0 : bytes[static_cast<std::size_t>(busiest.link)];
    if (bytes[link] > most) {
      busiest.link = static_cast<std::int32_t>(link);
    }
  }
  for (LinkLoadOverTime& busiest : result) {
    if (busiest.link >= 0) {
      busiest.bytes_per_s = load_over_time(deployment, timeline, busiest.link);
    }
  }
  return result;
}

}  // namespace lamina::report
