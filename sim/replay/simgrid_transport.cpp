#include "sim/replay/simgrid_transport.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <csignal>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <simgrid/kernel/Timer.hpp>
#include <simgrid/s4u.hpp>
#include <xbt/log.h>

#include "sim/error/error.hpp"
#include "sim/replay/link_profile.hpp"
#include "sim/replay/replay.hpp"

namespace lamina::replay {
namespace {

namespace s4u = simgrid::s4u;
namespace timer = simgrid::kernel::timer;

/// SimGrid installs handlers that print; ours stay in force.
class SignalsKept {
 public:
  SignalsKept() {
    for (std::size_t i = 0; i < kSignals.size(); ++i) {
      sigaction(kSignals[i], nullptr, &actions_[i]);
    }
  }

  ~SignalsKept() {
    for (std::size_t i = 0; i < kSignals.size(); ++i) {
      sigaction(kSignals[i], &actions_[i], nullptr);
    }
  }

  SignalsKept(const SignalsKept&) = delete;
  SignalsKept& operator=(const SignalsKept&) = delete;

 private:
  static constexpr std::array kSignals = {SIGINT, SIGTERM, SIGSEGV, SIGBUS, SIGABRT, SIGFPE};
  std::array<struct sigaction, kSignals.size()> actions_{};
};

void start_engine() {
  const SignalsKept signals;
  std::string name = "lamina";
  std::array<char*, 2> arguments = {name.data(), nullptr};
  int count = 1;
  new s4u::Engine(&count, arguments.data());  // owned by SimGrid; destroying it after an exception is a crash
  xbt_log_control_set("root.thresh:critical");
  s4u::Engine::set_config("network/model:CM02");
  s4u::Engine::set_config("network/crosstraffic:0");
  s4u::Engine::set_config("surf/precision:1e-12");
}

/// Rounding a flow's bytes to a whole number must not be seen: at least 2^30 units in a flow of 1 kB if the largest
/// flow allows it (payloads stay below 2^60, within SimGrid's 64 bits).
double unit_scale(double largest_flow) {
  constexpr int kLargestExponent = 60;
  constexpr int kMostScaling = 30;
  if (largest_flow <= 0) {
    return 1;
  }
  return std::ldexp(1.0, std::min(kMostScaling, kLargestExponent - 1 - std::ilogb(largest_flow)));
}

class SimgridTransport final : public Transport {
 public:
  SimgridTransport(const deployment::Deployment& deployment, const Plan& plan) : scale_(unit_scale(plan.largest_flow)) {
    start_engine();
    build_network(deployment, plan);
    s4u::Activity::on_completion_cb([this](const s4u::Activity& activity) { completed(activity); });
  }

  ~SimgridTransport() override {
    for (Flow& flow : flows_) {
      flow.comm.detach();  // after an error: freeing a flow under way is a crash
    }
  }

  SimgridTransport(const SimgridTransport&) = delete;
  SimgridTransport& operator=(const SimgridTransport&) = delete;

  [[nodiscard]] double now() const override { return s4u::Engine::get_clock(); }

  void start_flow(std::int32_t path, double bytes, Token token) override {
    const double payload = std::max(1.0, std::round(bytes * scale_));
    if (const double rate = lone_rates_[static_cast<std::size_t>(path)]; rate > 0) {
      timer::Timer::set(now() + payload / rate, [this, token] { listener_->flow_ended(token); });
      return;
    }
    std::size_t slot = flows_.size();
    if (free_flows_.empty()) {
      flows_.emplace_back();
    } else {
      slot = free_flows_.back();
      free_flows_.pop_back();
    }
    const s4u::CommPtr comm = s4u::Comm::sendto_init();
    comm->set_payload_size(static_cast<std::uint64_t>(payload));
    comm->set_data(reinterpret_cast<void*>(slot + 1));
    flows_[slot] = {comm, token, path};
    raise_links(path);
    comm->set_source(source_);
    comm->set_destination(destinations_[static_cast<std::size_t>(path)]);  // starts it
    hold_links(path);
  }

  Timer start_timer(double date, Token token) override {
    return timer::Timer::set(date, [this, token] { listener_->timer_ended(token); });
  }

  void cancel_timer(Timer handle) override { static_cast<timer::Timer*>(handle)->remove(); }

  void run(TransportListener& listener) override {
    listener_ = &listener;
    s4u::Engine::get_instance()->run();
    ended_.clear();
  }

 private:
  struct Flow {
    s4u::CommPtr comm;
    Token token = 0;
    std::int32_t path = -1;
  };

  /// A link with a profile. It follows the profile only while a flow crosses it, so that no timer outlives the flows.
  struct ChangingLink {
    s4u::Link* link = nullptr;
    double nominal = 0;  ///< as SimGrid counts
    LinkProfile profile;
    double share = 1;
    int flows = 0;
    timer::Timer* timer = nullptr;
  };

  void build_network(const deployment::Deployment& deployment, const Plan& plan) {
    s4u::NetZone* zone = s4u::create_empty_zone("network");
    const auto add_host = [zone](const std::string& name) {
      s4u::Host* host = zone->create_host(name, 1.0);
      host->seal();
      return host;
    };
    std::vector<s4u::Link*> links(deployment.links.size(), nullptr);
    std::vector<std::int32_t> changing(deployment.profiles.empty() ? 0 : deployment.links.size(), -1);
    changing_of_path_.resize(deployment.profiles.empty() ? 0 : deployment.paths.size());
    source_ = add_host("source");
    destinations_.assign(deployment.paths.size(), nullptr);
    lone_rates_.assign(deployment.paths.size(), 0);
    for (std::size_t i = 0; i < deployment.paths.size(); ++i) {
      if (plan.path_moves[i] == 0) {
        continue;
      }
      if (plan.path_is_lone[i] != 0) {
        lone_rates_[i] = lone_rate(deployment, deployment.paths[i]);
        continue;
      }
      destinations_[i] = add_host("path " + std::to_string(i));
      std::vector<s4u::LinkInRoute> route;
      for (const collectives::LinkUse& use : deployment.paths[i].links) {
        const auto index = static_cast<std::size_t>(use.link);
        const deployment::Link& link = deployment.links[index];
        if (link.never_limits) {
          continue;
        }
        if (links[index] == nullptr) {
          links[index] = zone->create_link("link " + std::to_string(index), link.bandwidth * scale_);
          links[index]->seal();
          if (link.profile >= 0) {
            changing[index] = static_cast<std::int32_t>(changing_.size());
            const deployment::Profile& profile = deployment.profiles[static_cast<std::size_t>(link.profile)];
            changing_.push_back(
                {.link = links[index], .nominal = link.bandwidth * scale_, .profile = LinkProfile(profile)});
          }
        }
        if (link.profile >= 0) {
          changing_of_path_[i].push_back(static_cast<std::size_t>(changing[index]));
        }
        route.insert(route.end(), static_cast<std::size_t>(use.count), s4u::LinkInRoute(links[index]));
      }
      zone->add_bypass_route(source_->get_netpoint(), destinations_[i]->get_netpoint(), nullptr, nullptr, route);
    }
    zone->seal();
  }

  /// What the engine would find for a flow that shares no link: the slowest link over its crossings.
  [[nodiscard]] double lone_rate(const deployment::Deployment& deployment, const deployment::Path& path) const {
    std::vector<collectives::LinkUse> uses = path.links;
    std::sort(uses.begin(), uses.end());
    double rate = std::numeric_limits<double>::infinity();
    for (auto use = uses.begin(); use != uses.end();) {
      const deployment::Link& link = deployment.links[static_cast<std::size_t>(use->link)];
      int crossings = 0;
      for (const auto first = use; use != uses.end() && use->link == first->link; ++use) {
        crossings += use->count;
      }
      if (!link.never_limits) {
        rate = std::min(rate, link.bandwidth * scale_ / crossings);
      }
    }
    return rate;
  }

  void completed(const s4u::Activity& activity) {
    ended_.clear();  // SimGrid still uses the activity of this callback, but not the ones before
    const std::size_t slot = reinterpret_cast<std::size_t>(activity.get_data<void>()) - 1;
    if (flows_[slot].comm.get() != &activity) {
      return;
    }
    if (activity.get_state() != s4u::Activity::State::FINISHED) {
      throw error::InternalError("replay: SimGrid dropped a flow");
    }
    const Token token = flows_[slot].token;
    release_links(flows_[slot].path);
    ended_.push_back(std::move(flows_[slot].comm));
    flows_[slot].comm = nullptr;
    free_flows_.push_back(slot);
    listener_->flow_ended(token);
  }

  /// SimGrid bounds a flow for good by the bandwidths that it finds when the flow starts: they must be the nominal
  /// ones.
  void raise_links(std::int32_t path) {
    if (changing_.empty()) {
      return;
    }
    for (const std::size_t index : changing_of_path_[static_cast<std::size_t>(path)]) {
      set_share(changing_[index], 1);
    }
  }

  void hold_links(std::int32_t path) {
    if (changing_.empty()) {
      return;
    }
    for (const std::size_t index : changing_of_path_[static_cast<std::size_t>(path)]) {
      if (changing_[index].flows++ == 0) {
        follow(index);
      } else {
        set_share(changing_[index], changing_[index].profile.at(now()).share);
      }
    }
  }

  void release_links(std::int32_t path) {
    if (changing_.empty()) {
      return;
    }
    for (const std::size_t index : changing_of_path_[static_cast<std::size_t>(path)]) {
      ChangingLink& link = changing_[index];
      if (--link.flows == 0 && link.timer != nullptr) {
        link.timer->remove();
        link.timer = nullptr;
      }
    }
  }

  /// Takes the share of this moment and comes back at the next change.
  void follow(std::size_t index) {
    ChangingLink& link = changing_[index];
    const LinkProfile::Stretch stretch = link.profile.at(now());
    set_share(link, stretch.share);
    link.timer = nullptr;
    if (std::isfinite(stretch.until)) {
      link.timer = timer::Timer::set(stretch.until, [this, index] { follow(index); });
    }
  }

  static void set_share(ChangingLink& link, double share) {
    if (share != link.share) {
      link.share = share;
      link.link->set_bandwidth(link.nominal * std::max(share, kStalledShare));
    }
  }

  /// SimGrid leaves a link of no bandwidth out of the sharing, as if it had no limit. This little is nothing: a link
  /// that is down for a day lets as much pass as in a nanosecond.
  static constexpr double kStalledShare = 1e-14;

  double scale_ = 1;
  std::vector<ChangingLink> changing_;
  std::vector<std::vector<std::size_t>> changing_of_path_;  ///< [path]; empty without profiles
  s4u::Host* source_ = nullptr;
  std::vector<s4u::Host*> destinations_;  ///< [path]
  std::vector<double> lone_rates_;        ///< [path] payload per second of a flow that never shares; 0: the engine's
  std::vector<Flow> flows_;
  std::vector<std::size_t> free_flows_;
  std::vector<s4u::CommPtr> ended_;
  TransportListener* listener_ = nullptr;
};

}  // namespace

bool has_used_simgrid() {
  return s4u::Engine::has_instance();
}

std::unique_ptr<Transport> make_simgrid_transport(const deployment::Deployment& deployment, const Plan& plan) {
  if (has_used_simgrid()) {
    throw error::InternalError("replay: a process can replay only once; use replay(), which forks");
  }
  return std::make_unique<SimgridTransport>(deployment, plan);
}

}  // namespace lamina::replay
