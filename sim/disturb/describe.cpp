#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "sim/disturb/disturb.hpp"
#include "sim/disturb/links.hpp"

namespace lamina::disturb {
namespace {

/// "250 us", "1.5 s": up to six digits.
std::string text_of(Seconds time) {
  const double value = time.value();
  return value == 0     ? "0 s"
         : value < 1e-3 ? fmt::format("{:g} us", value * 1e6)
         : value < 1    ? fmt::format("{:g} ms", value * 1e3)
                        : fmt::format("{:g} s", value);
}

std::string device_of(const scenario::Cluster& cluster, int device) {
  return fmt::format("device {} (device {} of node {})", device, device % cluster.node.devices,
                     device / cluster.node.devices);
}

std::string describe(const scenario::SlowDevice& slow, const scenario::Cluster& cluster) {
  const bool one = slow.devices == 1;
  const std::string who =
      one ? device_of(cluster, slow.first_device)
          : fmt::format("the {} devices of node {}", slow.devices, slow.first_device / cluster.node.devices);
  return fmt::format("slow device: {} compute{} {:g} times as long", who, one ? "s" : "", slow.factor);
}

std::string name_of(const scenario::SlowLink& slow) {
  return slow.node < 0 ? fmt::format("\"{}\"", slow.link) : fmt::format("node {} port {}", slow.node, slow.port);
}

std::string describe(const scenario::SlowLink& slow) {
  constexpr std::size_t kShown = 6;
  if (slow.profile.size() == 1) {
    return fmt::format("slow link: {} has {:g} % of its bandwidth", name_of(slow), slow.profile.front().share * 100);
  }
  std::string text = fmt::format("slow link: {} has", name_of(slow));
  for (std::size_t i = 0; i < std::min(kShown, slow.profile.size()); ++i) {
    const scenario::BandwidthChange& change = slow.profile[i];
    text += fmt::format("{} {:g} % from {}", i == 0 ? "" : ",", change.share * 100, text_of(change.at));
  }
  text += slow.profile.size() > kShown ? fmt::format(" and {} more changes", slow.profile.size() - kShown) : "";
  return slow.period ? fmt::format("{}, again every {}", text, text_of(*slow.period)) : text;
}

std::string describe(const scenario::FailedPort& failed) {
  return fmt::format("failed port: node {} port {}; its devices use the next port that is left", failed.node,
                     failed.port);
}

std::string describe(const scenario::HostDelay& delay, const scenario::Cluster& cluster) {
  const std::string which =
      delay.every == 1 ? std::string("every compute operation")
                       : fmt::format("compute operations {}, {}, ...", delay.every, std::int64_t{delay.every} * 2);
  return fmt::format("host delay: {} before {} of {}", text_of(delay.delay), which, device_of(cluster, delay.device));
}

std::string describe(const scenario::Jitter& jitter) {
  const bool exponential = jitter.distribution == scenario::JitterDistribution::kExponential;
  return fmt::format("jitter: {} factor on every operation, standard deviation {:g}, {} repeats, seed {}",
                     exponential ? "exponential" : "log-normal", jitter.standard_deviation, jitter.repeats,
                     jitter.seed);
}

bool hosts_ranks(const deployment::Whole& whole, int first_device, int devices) {
  return std::any_of(whole.ranks.begin(), whole.ranks.end(), [&](const deployment::WholeRank& rank) {
    return rank.device >= first_device && rank.device < first_device + devices;
  });
}

std::vector<bool> crossed_links(const deployment::Whole& whole) {
  std::vector<bool> crossed(whole.link_kinds.size(), false);
  for (const std::int32_t use : whole.uses) {
    if (use >= 0) {  // the others are numbers of crossings
      crossed[static_cast<std::size_t>(use)] = true;
    }
  }
  return crossed;
}

/// A rank whose own port this is, in a layout that uses the network.
bool port_is_used(const deployment::Whole& whole, const fabric::Fabric& fabric, const scenario::Cluster& cluster,
                  const scenario::FailedPort& failed, const std::vector<bool>& crossed) {
  bool networked = false;
  for (std::size_t link = 0; link < crossed.size(); ++link) {
    networked = networked || (crossed[link] && fabric.links[link].link_class == fabric::LinkClass::kPort);
  }
  return networked && std::any_of(whole.ranks.begin(), whole.ranks.end(), [&](const deployment::WholeRank& rank) {
           const int local = rank.device - failed.node * cluster.node.devices;
           return local >= 0 && local < cluster.node.devices && fabric::port_of(cluster.node, local) == failed.port;
         });
}

std::string no_effect(const std::string& what, const char* why) {
  return fmt::format("This disturbance has no effect: {}; {}.", what, why);
}

}  // namespace

std::vector<std::string> describe(const scenario::Scenario& scenario) {
  const scenario::Disturbances& disturbances = scenario.disturbances;
  std::vector<std::string> lines;
  for (const scenario::SlowDevice& slow : disturbances.slow_devices) {
    lines.push_back(describe(slow, scenario.cluster));
  }
  for (const scenario::SlowLink& slow : disturbances.slow_links) {
    lines.push_back(describe(slow));
  }
  for (const scenario::FailedPort& failed : disturbances.failed_ports) {
    lines.push_back(describe(failed));
  }
  for (const scenario::HostDelay& delay : disturbances.host_delays) {
    lines.push_back(describe(delay, scenario.cluster));
  }
  if (disturbances.jitter) {
    lines.push_back(describe(*disturbances.jitter));
  }
  return lines;
}

std::vector<std::string> without_effect(const deployment::Whole& whole, const fabric::Fabric& fabric,
                                        const scenario::Scenario& scenario) {
  constexpr const char* kUnused = "the strategy puts no rank there";
  const scenario::Disturbances& disturbances = scenario.disturbances;
  std::vector<std::string> lines;
  for (const scenario::SlowDevice& slow : disturbances.slow_devices) {
    if (!hosts_ranks(whole, slow.first_device, slow.devices)) {
      lines.push_back(no_effect(describe(slow, scenario.cluster), kUnused));
    }
  }
  const bool needs_links = !disturbances.slow_links.empty() || !disturbances.failed_ports.empty();
  const std::vector<bool> crossed = needs_links ? crossed_links(whole) : std::vector<bool>{};
  if (!disturbances.slow_links.empty()) {
    const auto links = slow_links(fabric, scenario);
    for (std::size_t i = 0; i < links.size(); ++i) {
      if (std::none_of(links[i].begin(), links[i].end(),
                       [&](fabric::LinkId link) { return crossed[static_cast<std::size_t>(link)]; })) {
        lines.push_back(no_effect(describe(disturbances.slow_links[i]), "nothing crosses it"));
      }
    }
  }
  for (const scenario::FailedPort& failed : disturbances.failed_ports) {
    if (!port_is_used(whole, fabric, scenario.cluster, failed, crossed)) {
      lines.push_back(no_effect(describe(failed), "no rank sends anything through it"));
    }
  }
  for (const scenario::HostDelay& delay : disturbances.host_delays) {
    if (!hosts_ranks(whole, delay.device, 1)) {
      lines.push_back(no_effect(describe(delay, scenario.cluster), kUnused));
    }
  }
  return lines;
}

}  // namespace lamina::disturb
