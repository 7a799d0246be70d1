#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

#include "sim/collectives/collective.hpp"
#include "sim/fabric/fabric.hpp"

/// Plays the message form of a collective on an idle fabric, independently of the library's replay: an event loop in
/// which a message waits for its sender's earlier steps, pays its latency, then shares every link max-min fairly with
/// the others.
namespace lamina::testing {

class MessageReplay {
 public:
  MessageReplay(const std::vector<collectives::MessageStep>& messages, const std::vector<int>& devices,
                const fabric::Fabric& fabric, Bytes payload)
      : fabric_(&fabric) {
    for (const collectives::MessageStep& message : messages) {
      const fabric::Route route = fabric::route(fabric, devices[static_cast<std::size_t>(message.from)],
                                                devices[static_cast<std::size_t>(message.to)]);
      flows_.push_back(
          {message, route.links, route.latency.value(), message.fraction * payload.value(), 0, false, false});
    }
    pending_.resize(devices.size());
    for (const Flow& flow : flows_) {
      for (const int member : {flow.message.from, flow.message.to}) {
        auto& steps = pending_[static_cast<std::size_t>(member)];
        steps.resize(std::max(steps.size(), static_cast<std::size_t>(flow.message.step) + 1), 0);
        ++steps[static_cast<std::size_t>(flow.message.step)];
      }
    }
    first_open_.resize(devices.size(), 0);
  }

  /// Time until the last message has arrived.
  double run() {
    std::size_t left = flows_.size();
    while (left > 0) {
      start_ready();
      share_bandwidth();
      left -= advance();
    }
    return now_;
  }

 private:
  struct Flow {
    collectives::MessageStep message;
    std::vector<fabric::LinkId> links;
    double latency = 0;
    double bytes = 0;
    double rate = 0;
    bool started = false;
    bool done = false;
  };

  /// Steps before the first one that has an unfinished message of this member are complete.
  int open_step(int member) {
    auto& open = first_open_[static_cast<std::size_t>(member)];
    const auto& steps = pending_[static_cast<std::size_t>(member)];
    while (open < steps.size() && steps[open] == 0) {
      ++open;
    }
    return static_cast<int>(open);
  }

  void start_ready() {
    for (Flow& flow : flows_) {
      if (!flow.started && open_step(flow.message.from) >= flow.message.step) {
        flow.started = true;
        active_.push_back(&flow);
      }
    }
  }

  /// Progressive filling: the links with the least share per flow freeze their flows, again and again.
  void share_bandwidth() {
    std::vector<double> capacity(fabric_->links.size());
    std::vector<int> users(fabric_->links.size(), 0);
    for (std::size_t link = 0; link < capacity.size(); ++link) {
      capacity[link] = fabric_->links[link].bandwidth.value();
    }
    std::vector<Flow*> open;
    for (Flow* flow : active_) {
      flow->rate = 0;
      if (flow->latency <= 0) {
        open.push_back(flow);
        for (const fabric::LinkId link : flow->links) {
          ++users[static_cast<std::size_t>(link)];
        }
      }
    }
    while (!open.empty()) {
      double share = std::numeric_limits<double>::max();
      for (std::size_t link = 0; link < capacity.size(); ++link) {
        if (users[link] > 0) {
          share = std::min(share, capacity[link] / users[link]);
        }
      }
      std::vector<Flow*> frozen;
      const auto is_bound = [&](const Flow* flow) {
        return std::any_of(flow->links.begin(), flow->links.end(), [&](fabric::LinkId link) {
          return capacity[static_cast<std::size_t>(link)] / users[static_cast<std::size_t>(link)] <=
                 share * (1 + 1e-12);
        });
      };
      std::copy_if(open.begin(), open.end(), std::back_inserter(frozen), is_bound);
      open.erase(std::remove_if(open.begin(), open.end(), is_bound), open.end());
      for (Flow* flow : frozen) {
        flow->rate = share;
        for (const fabric::LinkId link : flow->links) {
          capacity[static_cast<std::size_t>(link)] -= share;
          --users[static_cast<std::size_t>(link)];
        }
      }
    }
  }

  /// Moves to the next end of a latency or a transfer; returns how many messages arrived.
  std::size_t advance() {
    const auto time_left = [](const Flow& flow) { return flow.latency > 0 ? flow.latency : flow.bytes / flow.rate; };
    double step = std::numeric_limits<double>::max();
    for (const Flow* flow : active_) {
      step = std::min(step, time_left(*flow));
    }
    now_ += step;
    std::size_t arrived = 0;
    for (Flow* flow : active_) {
      const bool ends = time_left(*flow) <= step * (1 + 1e-9);
      if (flow->latency > 0) {
        flow->latency = ends ? 0 : flow->latency - step;
      } else if (ends) {
        flow->done = true;
        ++arrived;
        for (const int member : {flow->message.from, flow->message.to}) {
          --pending_[static_cast<std::size_t>(member)][static_cast<std::size_t>(flow->message.step)];
        }
      } else {
        flow->bytes -= flow->rate * step;
      }
    }
    active_.erase(std::remove_if(active_.begin(), active_.end(), [](const Flow* flow) { return flow->done; }),
                  active_.end());
    return arrived;
  }

  const fabric::Fabric* fabric_;
  std::vector<Flow> flows_;
  std::vector<Flow*> active_;
  std::vector<std::vector<int>> pending_;  ///< [member][step] messages not yet done
  std::vector<std::size_t> first_open_;    ///< [member]
  double now_ = 0;
};

}  // namespace lamina::testing
