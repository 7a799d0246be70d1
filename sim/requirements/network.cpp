#include "sim/requirements/network.hpp"

#include <algorithm>

#include "sim/replay/replay.hpp"
#include "sim/requirements/least.hpp"

namespace lamina::requirements {
namespace {

/// Times the network's own bandwidth: petabytes per second, in which even a terabyte takes no time.
constexpr double kWithoutLimit = 1e6;

bool is_network(fabric::LinkClass link_class) {
  return link_class == fabric::LinkClass::kPort || link_class == fabric::LinkClass::kTrunk;
}

/// Replays one layout on changed networks.
class Laboratory {
 public:
  Laboratory(const scenario::Scenario& scenario, const pipeline::Prepared& prepared) : prepared_(&prepared) {
    options_.communication_slowdown = scenario.simulation.communication_slowdown;
    options_.record_flows = false;
  }

  /// Ports and trunks of `deployment` at `scale` times their bandwidth.
  double step_time(deployment::Deployment deployment, double scale) {
    for (deployment::Link& link : deployment.links) {
      if (is_network(link.link_class)) {
        link.bandwidth *= scale;
      }
    }
    ++replays_;
    return replay::replay(prepared_->graph, deployment, options_).end_s;
  }

  [[nodiscard]] int replays() const { return replays_; }

 private:
  const pipeline::Prepared* prepared_;
  replay::Options options_;
  int replays_ = 0;
};

/// The scenario's layout on its own fabric without network latency.
deployment::Deployment without_latency(const scenario::Scenario& scenario, const pipeline::Prepared& prepared,
                                       const pipeline::Catalogs& catalogs) {
  fabric::Fabric fabric = prepared.fabric;
  fabric.port_latency = Seconds(0);
  fabric.switch_latency = Seconds(0);
  return pipeline::lay_out(scenario, prepared.graph, fabric, catalogs).deployment;
}

/// The busiest port must move its bytes within the time allowed, so this many times its bandwidth is never too much.
double lower_bound(const report::Report& report, double allowed_s) {
  double scale = 0;
  for (const report::LinkLoad& load : report.links) {
    if (is_network(load.link_class) && load.bandwidth_bytes_per_s > 0) {
      scale = std::max(scale, load.bytes / allowed_s / load.bandwidth_bytes_per_s);
    }
  }
  return scale;
}

}  // namespace

NetworkRequirement network_requirement(const scenario::Scenario& scenario, const pipeline::Result& result,
                                       const pipeline::Catalogs& catalogs, double tolerance) {
  NetworkRequirement answer;
  answer.ideal_step_s = result.timeline.end_s;
  if (!(lower_bound(result.report, answer.ideal_step_s) > 0)) {
    return answer;
  }
  const pipeline::Prepared& prepared = result.prepared;
  Laboratory laboratory(scenario, prepared);
  const bool shares_links = scenario.simulation.transport == scenario::Transport::kSimgrid;
  const double step_s = shares_links ? result.timeline.end_s : laboratory.step_time(prepared.deployment, 1);
  answer.ideal_step_s = laboratory.step_time(without_latency(scenario, prepared, catalogs), kWithoutLimit);

  Search search;
  search.target = (1 + tolerance) * answer.ideal_step_s;
  search.lower = std::min(lower_bound(result.report, search.target), 1.0);
  search.most = kWithoutLimit;
  const auto time = [&](double scale) { return laboratory.step_time(prepared.deployment, scale); };
  if (step_s <= search.target) {
    search.upper = 1.0;
  } else {
    search.lower = 1.0;
    if (time(search.most) > search.target) {
      answer.verdict = NetworkVerdict::kLatencyBound;
      answer.replays = laboratory.replays();
      return answer;
    }
  }
  const Least least = least_that_meets(time, search);
  answer.verdict = least.value ? NetworkVerdict::kFound : NetworkVerdict::kLatencyBound;
  answer.bandwidth_bytes_per_s = least.value.value_or(0) * scenario.cluster.network.bandwidth.value();
  answer.replays = laboratory.replays();
  return answer;
}

}  // namespace lamina::requirements
