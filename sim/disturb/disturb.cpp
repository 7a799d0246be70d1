#include "sim/disturb/disturb.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "sim/disturb/links.hpp"
#include "sim/disturb/ports.hpp"

namespace lamina::disturb {
namespace {

bool same(const deployment::Profile& a, const deployment::Profile& b) {
  return a.period_s == b.period_s &&
         std::equal(a.changes.begin(), a.changes.end(), b.changes.begin(), b.changes.end(),
                    [](const scenario::BandwidthChange& x, const scenario::BandwidthChange& y) {
                      return x.at == y.at && x.share == y.share;
                    });
}

/// Index of a profile with these contents, added if there is none.
std::int32_t profile_index(std::vector<deployment::Profile>& profiles, const scenario::SlowLink& slow) {
  deployment::Profile profile{slow.profile, slow.period ? slow.period->value() : 0};
  const auto found =
      std::find_if(profiles.begin(), profiles.end(), [&](const auto& known) { return same(known, profile); });
  const auto index = static_cast<std::int32_t>(found - profiles.begin());
  if (found == profiles.end()) {
    profiles.push_back(std::move(profile));
  }
  return index;
}

/// The best share that the link ever has, so that a replay without contention stays a lower bound.
double best_share(const deployment::Profile& profile) {
  return std::max_element(profile.changes.begin(), profile.changes.end(),
                          [](const auto& a, const auto& b) { return a.share < b.share; })
      ->share;
}

/// The time that a byte takes alone, for replays without contention: slow links count at the best they ever have.
void slow_paths(deployment::Whole& whole) {
  for (std::size_t path = 0; path < whole.paths(); ++path) {
    const deployment::PathKind& kind = whole.kind_of_path(path);
    double alone = kind.alone_s_per_byte;
    whole.for_each_use(path, [&](std::int32_t link, std::int32_t count) {
      const deployment::LinkKind& slow = whole.kind_of_link(link);
      if (slow.profile >= 0) {
        const double share = best_share(whole.profiles[static_cast<std::size_t>(slow.profile)]);
        alone = std::max(alone, count / (slow.bandwidth * share));
      }
    });
    if (alone != kind.alone_s_per_byte) {
      whole.path_kinds[path] = whole.kinds_of_paths.number_of({kind.latency_s, alone});
    }
  }
}

/// Slow devices and host delays of the device on which a rank runs.
deployment::RankKind disturbed(deployment::RankKind kind, int device, const scenario::Disturbances& disturbances) {
  for (const scenario::SlowDevice& slow : disturbances.slow_devices) {
    if (device >= slow.first_device && device < slow.first_device + slow.devices) {
      kind.slowness = slow.factor;
    }
  }
  for (const scenario::HostDelay& delay : disturbances.host_delays) {
    if (device == delay.device) {
      kind.host_delay_s = delay.delay.value();
      kind.host_delay_every = delay.every;
    }
  }
  return kind;
}

}  // namespace

tl::expected<fabric::Fabric, error::Infeasible> change_fabric(fabric::Fabric fabric,
                                                              const scenario::Scenario& scenario) {
  if (auto routed = reroute(fabric, scenario); !routed) {
    return tl::unexpected(std::move(routed.error()));
  }
  for (const auto& links : slow_links(fabric, scenario)) {
    for (const fabric::LinkId link : links) {
      fabric.links[static_cast<std::size_t>(link)].never_limits = false;
    }
  }
  return fabric;
}

deployment::Whole change_deployment(deployment::Whole whole, const fabric::Fabric& fabric,
                                    const scenario::Scenario& scenario) {
  const scenario::Disturbances& disturbances = scenario.disturbances;
  const bool on_ranks = !disturbances.slow_devices.empty() || !disturbances.host_delays.empty();
  for (std::size_t rank = 0; on_ranks && rank < whole.ranks.size(); ++rank) {
    whole.change_rank(rank, disturbed(whole.kind_of_rank(rank), whole.ranks[rank].device, disturbances));
  }
  const auto links = slow_links(fabric, scenario);
  for (std::size_t i = 0; i < links.size(); ++i) {
    const std::int32_t profile = profile_index(whole.profiles, disturbances.slow_links[i]);
    for (const fabric::LinkId link : links[i]) {
      deployment::LinkKind kind = whole.kind_of_link(link);
      kind.profile = profile;
      whole.change_link(link, kind);
    }
  }
  if (!links.empty()) {
    slow_paths(whole);
  }
  return whole;
}

}  // namespace lamina::disturb
