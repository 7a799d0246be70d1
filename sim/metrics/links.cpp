#include "sim/metrics/links.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include <fmt/format.h>

#include "sim/error/error.hpp"

namespace lamina::metrics {

namespace {

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

/// Bytes that all flows of each path moved over one use of each of its links.
std::vector<double> bytes_of_paths(const Step& step) {
  std::vector<double> bytes(step.deployment().paths.size(), 0.0);
  for (const timeline::Flow& flow : step.timeline().flows) {
    if (flow.path < 0 || static_cast<std::size_t>(flow.path) >= bytes.size()) {
      throw error::InternalError(
          fmt::format("a flow takes path {}, but the deployment has {} paths", flow.path, bytes.size()));
    }
    bytes[static_cast<std::size_t>(flow.path)] += flow.bytes;
  }
  return bytes;
}

/// Real bytes through one link of each deployment link.
std::vector<double> bytes_of_links(const Step& step) {
  const deployment::Deployment& deployment = step.deployment();
  const std::vector<double> path_bytes = bytes_of_paths(step);
  std::vector<double> bytes(deployment.links.size(), 0.0);
  for (std::size_t path = 0; path < path_bytes.size(); ++path) {
    for (const collectives::LinkUse& use : deployment.paths[path].links) {
      if (use.link < 0 || static_cast<std::size_t>(use.link) >= bytes.size()) {
        throw error::InternalError(
            fmt::format("path {} uses link {}, but the deployment has {} links", path, use.link, bytes.size()));
      }
      bytes[static_cast<std::size_t>(use.link)] += path_bytes[path] * use.count;
    }
  }
  for (std::size_t link = 0; link < bytes.size(); ++link) {
    bytes[link] *= deployment.links[link].capacity_divisor;
  }
  return bytes;
}

/// A flow's rate comes or goes.
struct Change {
  double time = 0;
  double rate = 0;
};

void sort_by_time(std::vector<Change>& changes) {
  const auto earlier = [](const Change& a, const Change& b) { return a.time < b.time; };
  if (!std::is_sorted(changes.begin(), changes.end(), earlier)) {  // a timeline's flows are in order of their ends
    std::stable_sort(changes.begin(), changes.end(), earlier);
  }
}

/// Highest sum of the average rates of the flows in flight over `link`, bytes per second.
double peak_rate(const Step& step, std::size_t link) {
  const deployment::Deployment& deployment = step.deployment();
  std::vector<double> crossings(deployment.paths.size(), 0.0);
  for (std::size_t path = 0; path < deployment.paths.size(); ++path) {
    for (const collectives::LinkUse& use : deployment.paths[path].links) {
      if (static_cast<std::size_t>(use.link) == link) {
        crossings[path] += use.count * deployment.links[link].capacity_divisor;
      }
    }
  }

  std::vector<Change> starts;
  std::vector<Change> ends;
  for (const timeline::Flow& flow : step.timeline().flows) {
    const double crossed = crossings[static_cast<std::size_t>(flow.path)];
    const double duration = flow.end - flow.start;
    if (crossed > 0 && duration > step.slack()) {
      const double rate = flow.bytes * crossed / duration;
      starts.push_back({flow.start, rate});
      ends.push_back({flow.end, rate});
    }
  }
  sort_by_time(starts);
  sort_by_time(ends);
  double now = 0;
  double peak = 0;
  auto ending = ends.begin();
  for (const Change& start : starts) {
    for (; ending != ends.end() && ending->time <= start.time + step.slack(); ++ending) {
      now -= ending->rate;
    }
    now += start.rate;
    peak = std::max(peak, now);
  }
  return peak;
}

}  // namespace

std::vector<report::LinkLoad> link_loads(const Step& step, const fabric::Fabric& fabric,
                                         scenario::Transport transport) {
  const deployment::Deployment& deployment = step.deployment();
  std::array<report::LinkLoad, fabric::kLinkClasses> loads;
  for (const fabric::Link& link : fabric.links) {
    report::LinkLoad& load = loads[static_cast<std::size_t>(link.link_class)];
    load.links += 1;
    if (load.bandwidth_bytes_per_s == 0) {
      load.bandwidth_bytes_per_s = link.bandwidth.value();
    }
  }
  const std::vector<double> bytes = bytes_of_links(step);
  std::array<std::size_t, fabric::kLinkClasses> busiest;
  busiest.fill(kNone);
  for (std::size_t link = 0; link < bytes.size(); ++link) {
    std::size_t& best = busiest[static_cast<std::size_t>(deployment.links[link].link_class)];
    if (bytes[link] > 0 && (best == kNone || bytes[link] > bytes[best] * (1 + 1e-12))) {
      best = link;
    }
  }
  std::vector<report::LinkLoad> result;
  for (std::size_t index = 0; index < loads.size(); ++index) {
    report::LinkLoad load = loads[index];
    load.link_class = static_cast<fabric::LinkClass>(index);
    if (const std::size_t link = busiest[index]; link != kNone) {
      load.bytes = bytes[link];
      load.bandwidth_bytes_per_s = deployment.links[link].bandwidth * deployment.links[link].capacity_divisor;
      load.average_bytes_per_s = step.time() > 0 ? load.bytes / step.time() : 0;
      load.peak_bytes_per_s = peak_rate(step, link);
      if (transport == scenario::Transport::kSimgrid) {  // average rates may add up to more than the link ever carried
        load.peak_bytes_per_s = std::min(load.peak_bytes_per_s, load.bandwidth_bytes_per_s);
      }
    }
    if (load.links > 0 || load.bytes > 0) {
      result.push_back(load);
    }
  }
  return result;
}

}  // namespace lamina::metrics
