#include "sim/collectives/plans.hpp"

#include <algorithm>
#include <utility>

namespace lamina::collectives {
namespace {

using scenario::CollectiveProtocol;
using Protocols = std::vector<CollectiveProtocol>;

bool leaves_domain(const Candidate& candidate) {
  return std::any_of(candidate.phases.begin(), candidate.phases.end(),
                     [](const FlowPhase& phase) { return phase.hops.between > 0; });
}

/// Those that name the algorithm; if there are none, those that name no algorithm; without any, one that costs nothing.
Protocols serving(std::string_view algorithm, const Protocols& protocols) {
  Protocols named;
  Protocols general;
  for (const CollectiveProtocol& protocol : protocols) {
    if (protocol.algorithm == algorithm) {
      named.push_back(protocol);
    } else if (protocol.algorithm.empty()) {
      general.push_back(protocol);
    }
  }
  return !named.empty() ? named : !general.empty() ? general : Protocols(1);
}

/// A protocol at work on both kinds of links.
struct Terms {
  Seconds start;
  Seconds hop_inside;
  Seconds hop_between;
  double efficiency_inside = 1;
  double efficiency_between = 1;
};

Terms terms_of(const CollectiveProtocol& protocol, const Candidate& candidate, bool between,
               const Protocols& of_device_links) {
  if (!between) {
    return {protocol.start, protocol.hop, Seconds(0), protocol.efficiency, 1};
  }
  CollectiveProtocol inside;
  for (const CollectiveProtocol& other : serving(candidate.algorithm, of_device_links)) {
    if (other.name == protocol.name) {
      inside = other;
    }
  }
  return {protocol.start, inside.hop, protocol.hop, inside.efficiency, protocol.efficiency};
}

/// Seconds that one byte of a flow takes on its slowest link inside domains and between them.
struct SlowestLinks {
  double inside = 0;
  double between = 0;

  [[nodiscard]] double under(double efficiency_inside, double efficiency_between) const {
    return std::max(inside / efficiency_inside, between / efficiency_between);
  }
};

SlowestLinks slowest_of(const std::vector<LinkUse>& links, const fabric::Fabric& fabric) {
  SlowestLinks slowest;
  for (const LinkUse& use : links) {
    const fabric::Link& link = fabric.links[static_cast<std::size_t>(use.link)];
    if (link.never_limits) {
      continue;
    }
    const bool inside =
        link.link_class == fabric::LinkClass::kDeviceLink || link.link_class == fabric::LinkClass::kHostPath;
    double& seconds = inside ? slowest.inside : slowest.between;
    seconds = std::max(seconds, use.count / link.bandwidth.value());
  }
  return slowest;
}

Plan plan_of(const Candidate& candidate, const CollectiveProtocol& protocol, const Terms& terms,
             const std::vector<SlowestLinks>& slowest) {
  Plan plan;
  plan.algorithm = candidate.algorithm;
  plan.protocol = protocol.name;
  Seconds start = terms.start;
  for (std::size_t p = 0; p < candidate.phases.size(); ++p) {
    const FlowPhase& phase = candidate.phases[p];
    const double at_full_rate = slowest[p].under(1, 1);
    const double at_this_rate = slowest[p].under(terms.efficiency_inside, terms.efficiency_between);
    PlannedPhase planned;
    planned.bytes_per_payload = phase.bytes_per_payload;
    planned.pace = at_full_rate > 0 ? at_this_rate / at_full_rate : 1;
    planned.latency =
        start + phase.hops.wire + phase.hops.inside * terms.hop_inside + phase.hops.between * terms.hop_between;
    start = Seconds(0);
    plan.latency += planned.latency;
    plan.s_per_byte += phase.bytes_per_payload * at_this_rate;
    plan.phases.push_back(std::move(planned));
  }
  return plan;
}

/// The plans that are the fastest for some payload, with the ranges in which they are: the lower envelope of lines.
std::vector<Plan> fastest(std::vector<Plan> plans) {
  std::vector<Plan> result;
  double payload = 0;
  const auto before = [](const Plan& a, const Plan& b) {
    return a.latency != b.latency ? a.latency < b.latency : a.s_per_byte < b.s_per_byte;
  };
  auto current = std::min_element(plans.begin(), plans.end(), before);
  double above = PayloadRange().above;
  while (true) {
    auto next = plans.end();
    double crossing = PayloadRange().up_to;
    for (auto plan = plans.begin(); plan != plans.end(); ++plan) {
      if (plan->s_per_byte < current->s_per_byte) {
        const double meets = (plan->latency - current->latency).value() / (current->s_per_byte - plan->s_per_byte);
        if (meets < crossing || (meets == crossing && plan->s_per_byte < next->s_per_byte)) {
          crossing = meets;
          next = plan;
        }
      }
    }
    payload = std::max(payload, crossing);
    Plan chosen = *current;
    chosen.range = {above, next == plans.end() ? PayloadRange().up_to : payload};
    above = payload;
    result.push_back(std::move(chosen));
    if (next == plans.end()) {
      return result;
    }
    current = next;
  }
}

}  // namespace

double seconds_per_byte(const std::vector<LinkUse>& links, const fabric::Fabric& fabric) {
  return slowest_of(links, fabric).under(1, 1);
}

std::vector<Plan> make_plans(const Collective& collective, graph::CollectiveKind kind, const std::vector<int>& devices,
                             const fabric::Fabric& fabric) {
  std::vector<Candidate> candidates = collective.candidates(kind, devices, fabric);
  std::vector<Plan> plans;
  for (std::size_t c = 0; c < candidates.size(); ++c) {
    const Candidate& candidate = candidates[c];
    const bool between = leaves_domain(candidate);
    const Protocols stated =
        serving(candidate.algorithm, between ? fabric.network_protocols : fabric.device_link_protocols);
    std::vector<SlowestLinks> slowest;
    for (const FlowPhase& phase : candidate.phases) {
      slowest.push_back(slowest_of(phase.links, fabric));
    }
    for (const CollectiveProtocol& protocol : stated) {
      plans.push_back(
          plan_of(candidate, protocol, terms_of(protocol, candidate, between, fabric.device_link_protocols), slowest));
    }
  }
  std::vector<Plan> result = fastest(std::move(plans));
  for (Plan& plan : result) {
    const auto candidate = std::find_if(candidates.begin(), candidates.end(),
                                        [&](const Candidate& one) { return one.algorithm == plan.algorithm; });
    for (std::size_t p = 0; p < plan.phases.size(); ++p) {
      plan.phases[p].links = candidate->phases[p].links;
    }
  }
  return result;
}

std::vector<Plan> make_plans(const Collective& collective, graph::CollectiveKind kind, const std::vector<int>& devices,
                             const fabric::Fabric& fabric, const std::set<double>& payloads) {
  std::vector<Plan> plans = make_plans(collective, kind, devices, fabric);
  std::erase_if(plans, [&](const Plan& plan) {
    return std::none_of(payloads.begin(), payloads.end(), [&](double bytes) { return plan.range.contains(bytes); });
  });
  return plans;
}

TransferTime idle_time(const std::vector<Plan>& plans) {
  TransferTime time;
  for (const Plan& plan : plans) {
    time.lines.push_back({plan.latency.value(), plan.s_per_byte});
  }
  return time;
}

}  // namespace lamina::collectives
