#include "sim/requirements/experiment.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/replay/replay.hpp"

namespace lamina::requirements {
namespace {

using deployment::Deployment;
using fabric::LinkClass;

/// Times the largest bandwidth of the deployment: petabytes per second, in which even a terabyte takes no time.
constexpr double kWithoutLimit = 1e6;

/// Ranks of a replay that is still worth dozens of repeats.
constexpr std::size_t kFewRanks = 256;
constexpr std::size_t kMostTimesTheRanks = 8;

bool is_network(LinkClass link_class) {
  return link_class == LinkClass::kPort || link_class == LinkClass::kTrunk;
}

double largest_bandwidth(const Deployment& deployment) {
  double largest = 1;
  for (const deployment::Link& link : deployment.links) {
    largest = std::max(largest, link.bandwidth);
  }
  return largest;
}

void free_link(deployment::Link& link, double bandwidth) {
  link.bandwidth = bandwidth;
  link.never_limits = false;  // a path on which nothing limits its bytes is refused by the replay
  link.profile = -1;
}

/// The network other than `link_class` has no limit; that class has `scale` times its bandwidth.
void set_bandwidths(Deployment& deployment, LinkClass link_class, double scale, double free) {
  for (deployment::Link& link : deployment.links) {
    if (link.link_class == link_class) {
      link.bandwidth *= scale;
    } else if (is_network(link.link_class)) {
      free_link(link, free);
    }
  }
}

/// The network and `link_class` have no limit, whatever disturbs them.
void free_class(Deployment& deployment, LinkClass link_class) {
  const double free = kWithoutLimit * largest_bandwidth(deployment);
  for (deployment::Link& link : deployment.links) {
    if (link.link_class == link_class || is_network(link.link_class)) {
      free_link(link, free);
    }
  }
}

bool carries(const PathTraffic& path, const std::optional<graph::Traffic>& traffic) {
  return !traffic || path.used[static_cast<std::size_t>(*traffic)];
}

/// Traffic other than the selected does not touch the selected class.
void free_other_traffic(Deployment& deployment, const std::vector<PathTraffic>& traffic, const Selection& selection,
                        double free) {
  if (!selection.traffic) {
    return;
  }
  const auto elsewhere = static_cast<fabric::LinkId>(deployment.links.size());
  deployment::Link link;
  free_link(link, free);
  deployment.links.push_back(link);
  for (std::size_t p = 0; p < traffic.size(); ++p) {
    if (carries(traffic[p], selection.traffic)) {
      continue;
    }
    auto& uses = deployment.paths[p].links;
    const auto selected = [&](const collectives::LinkUse& use) {
      return deployment.links[static_cast<std::size_t>(use.link)].link_class == selection.link_class;
    };
    const auto kept = std::remove_if(uses.begin(), uses.end(), selected);
    if (kept != uses.end()) {
      uses.erase(kept, uses.end());
      uses.push_back({elsewhere, 1});
    }
  }
}

/// A network that takes no time; the selected class's latency is `latency`.
fabric::Fabric with_latencies(const fabric::Fabric& own, LinkClass link_class, Seconds latency) {
  fabric::Fabric fabric = own;
  fabric.port_latency = Seconds(0);
  fabric.switch_latency = Seconds(0);
  if (own.network_route) {
    fabric.network_route = [route = own.network_route](std::int32_t from, std::int32_t to, fabric::NetworkHop& hop) {
      route(from, to, hop);
      hop.cables = Seconds(0);
    };
  }
  switch (link_class) {
    case LinkClass::kDeviceLink:
      fabric.device_link_latency = latency;
      break;
    case LinkClass::kHostPath:
      fabric.host_latency = latency;
      break;
    case LinkClass::kPort:
      fabric.port_latency = latency;
      break;
    case LinkClass::kTrunk:
      fabric.switch_latency = latency;
      break;
  }
  return fabric;
}

/// Trunks that cannot limit at their own bandwidth may do so at less of it.
void let_limit(fabric::Fabric& fabric, LinkClass link_class) {
  for (fabric::Link& link : fabric.links) {
    if (link.link_class == link_class) {
      link.never_limits = false;
    }
  }
}

}  // namespace

Experiment::Experiment(const scenario::Scenario& scenario, const pipeline::Prepared& prepared,
                       const pipeline::Catalogs& catalogs)
    : scenario_(&scenario), prepared_(&prepared), catalogs_(&catalogs) {}

Experiment::Bench Experiment::lay_out(const fabric::Fabric& fabric) const {
  Bench bench;
  bench.deployment = pipeline::lay_out(*scenario_, prepared_->graph, fabric, *catalogs_).deployment;
  bench.traffic = traffic_of_paths(prepared_->graph, bench.deployment);
  return bench;
}

const Experiment::Bench& Experiment::bandwidth_bench(LinkClass link_class) {
  auto found = bandwidth_benches_.find(link_class);
  if (found == bandwidth_benches_.end()) {
    fabric::Fabric fabric = with_latencies(prepared_->fabric, link_class, Seconds(0));
    let_limit(fabric, link_class);
    found = bandwidth_benches_.emplace(link_class, lay_out(fabric)).first;
  }
  return found->second;
}

const Experiment::Bench& Experiment::latency_bench(LinkClass link_class) {
  auto found = latency_benches_.find(link_class);
  if (found == latency_benches_.end()) {
    // One second per crossing of the class: the whole seconds of a path's latency count its crossings.
    found =
        latency_benches_.emplace(link_class, lay_out(with_latencies(prepared_->fabric, link_class, Seconds(1)))).first;
  }
  return found->second;
}

const Experiment::Bench& Experiment::own_bench(LinkClass link_class) {
  auto found = own_benches_.find(link_class);
  if (found == own_benches_.end()) {
    fabric::Fabric fabric = prepared_->fabric;
    let_limit(fabric, link_class);
    found = own_benches_.emplace(link_class, lay_out(fabric)).first;
  }
  return found->second;
}

double Experiment::replay(const Deployment& deployment) {
  replay::Options options;
  options.communication_slowdown = scenario_->simulation.communication_slowdown;
  options.record_flows = false;
  ++replays_;
  return replay::replay(prepared_->graph, deployment, options).end_s;
}

double Experiment::ideal_step(const Selection& selection) {
  Deployment deployment = bandwidth_bench(selection.link_class).deployment;
  free_class(deployment, selection.link_class);
  return replay(deployment);
}

double Experiment::step_with_bandwidth(const Selection& selection, double scale) {
  const Bench& bench = bandwidth_bench(selection.link_class);
  Deployment deployment = bench.deployment;
  const double free = kWithoutLimit * largest_bandwidth(deployment);
  set_bandwidths(deployment, selection.link_class, scale, free);
  free_other_traffic(deployment, bench.traffic, selection, free);
  return replay(deployment);
}

double Experiment::step_with_latency(const Selection& selection, double latency_s) {
  const Bench& bench = latency_bench(selection.link_class);
  Deployment deployment = bench.deployment;
  for (std::size_t p = 0; p < deployment.paths.size(); ++p) {
    double& latency = deployment.paths[p].latency_s;
    const double crossings = std::round(latency);
    const double others = std::max(0.0, latency - crossings);
    latency = others + (carries(bench.traffic[p], selection.traffic) ? crossings * latency_s : 0);
  }
  free_class(deployment, selection.link_class);
  return replay(deployment);
}

double Experiment::step_with_class_scaled(LinkClass link_class, double scale) {
  Deployment deployment = own_bench(link_class).deployment;
  for (deployment::Link& link : deployment.links) {
    if (link.link_class == link_class) {
      link.bandwidth *= scale;
    }
  }
  return replay(deployment);
}

bool Experiment::affordable(LinkClass link_class) {
  const std::size_t own = prepared_->deployment.ranks.size();
  return bandwidth_bench(link_class).deployment.ranks.size() <= std::max(kMostTimesTheRanks * own, kFewRanks);
}

Busiest Experiment::busiest(const Selection& selection) {
  const Bench& bench = bandwidth_bench(selection.link_class);
  return busiest_link(bench.deployment, bench.traffic, selection.link_class,
                      selection.traffic ? &*selection.traffic : nullptr);
}

bool Experiment::crosses(const Selection& selection) {
  const Bench& bench = latency_bench(selection.link_class);
  for (std::size_t p = 0; p < bench.traffic.size(); ++p) {
    const auto& used = bench.traffic[p].used;
    const bool is_used = selection.traffic ? carries(bench.traffic[p], selection.traffic)
                                           : std::find(used.begin(), used.end(), true) != used.end();
    if (is_used && std::round(bench.deployment.paths[p].latency_s) >= 1) {
      return true;
    }
  }
  return false;
}

}  // namespace lamina::requirements
