#include "sim/replay/compute_streams.hpp"

#include <algorithm>

namespace lamina::replay {

ComputeStreams::ComputeStreams(std::size_t ranks, const Slowdowns& slowdowns, Transport& transport)
    : slowdowns_(slowdowns), transport_(transport) {
  devices_.resize(constant_speed() ? 0 : ranks);
}

void ComputeStreams::start(std::uint32_t rank, double work, Token token) {
  if (constant_speed()) {
    transport_.start_timer(transport_.now() + work, token);
    return;
  }
  Device& device = devices_[rank];
  device.running.push_back({.token = token, .left = work});
  arm(device, device.running.back());
}

void ComputeStreams::finish(std::uint32_t rank, Token token) {
  if (constant_speed()) {
    return;
  }
  std::vector<Running>& running = devices_[rank].running;
  running.erase(std::find_if(running.begin(), running.end(), [&](const Running& one) { return one.token == token; }));
}

void ComputeStreams::occupy(std::uint32_t rank, Touch touch) {
  if (!constant_speed()) {
    change(devices_[rank], touch, 1);
  }
}

void ComputeStreams::vacate(std::uint32_t rank, Touch touch) {
  if (!constant_speed()) {
    change(devices_[rank], touch, -1);
  }
}

void ComputeStreams::arm(const Device& device, Running& running) {
  running.since = transport_.now();
  running.timer = transport_.start_timer(running.since + running.left / speed(device), running.token);
}

double ComputeStreams::speed(const Device& device) const {
  double slowdown = 0;
  for (std::size_t touch = 0; touch < slowdowns_.size(); ++touch) {
    slowdown = device.transfers[touch] > 0 ? std::max(slowdown, slowdowns_[touch]) : slowdown;
  }
  return 1 - slowdown;
}

void ComputeStreams::change(Device& device, Touch touch, int by) {
  const double before = speed(device);
  device.transfers[static_cast<std::size_t>(touch)] += by;
  if (speed(device) == before) {
    return;
  }
  for (Running& running : device.running) {
    transport_.cancel_timer(running.timer);
    running.left = std::max(0.0, running.left - before * (transport_.now() - running.since));
    arm(device, running);
  }
}

}  // namespace lamina::replay
