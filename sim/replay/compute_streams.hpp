#pragma once

#include <cstdint>
#include <vector>

#include "sim/replay/transport.hpp"

namespace lamina::replay {

/// Compute operations under way whose speed changes while transfers touch their device: timers that are armed again at
/// each change.
class ComputeStreams {
 public:
  /// Compute runs at (1 - slowdown) while at least one transfer touches its rank.
  ComputeStreams(std::size_t ranks, double slowdown, Transport& transport);

  [[nodiscard]] bool constant_speed() const { return slowdown_ == 0; }

  /// Starts `work` seconds of undisturbed compute; `token` comes back when they are done.
  void start(std::uint32_t rank, double work, Token token);
  /// Call when the timer of `token` has ended.
  void finish(std::uint32_t rank, Token token);

  /// A transfer starts or stops to touch the rank.
  void occupy(std::uint32_t rank);
  void vacate(std::uint32_t rank);

 private:
  struct Running {
    Token token = 0;
    double left = 0;  ///< seconds of undisturbed compute at `since`
    double since = 0;
    Transport::Timer timer = nullptr;
  };

  struct Device {
    int transfers = 0;
    std::vector<Running> running;
  };

  [[nodiscard]] double speed(const Device& device) const { return device.transfers > 0 ? 1 - slowdown_ : 1; }

  void arm(const Device& device, Running& running);
  void change(Device& device, int by);

  std::vector<Device> devices_;
  double slowdown_ = 0;
  Transport& transport_;
};

}  // namespace lamina::replay
