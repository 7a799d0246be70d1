#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sim/replay/transport.hpp"

namespace lamina::replay {

/// Compute operations under way whose speed changes while transfers touch their device: timers that are armed again at
/// each change.
class ComputeStreams {
 public:
  /// What a transfer is to a rank.
  enum class Touch : std::uint8_t {
    kAny,
    kReceivedMessage,
  };

  /// [touch] Compute runs at (1 - slowdown) while at least one such transfer touches its rank; of two the larger one.
  using Slowdowns = std::array<double, 2>;

  ComputeStreams(std::size_t ranks, const Slowdowns& slowdowns, Transport& transport);

  [[nodiscard]] bool constant_speed() const { return slowdowns_[0] == 0 && slowdowns_[1] == 0; }

  /// Starts `work` seconds of undisturbed compute; `token` comes back when they are done.
  void start(std::uint32_t rank, double work, Token token);
  /// Call when the timer of `token` has ended.
  void finish(std::uint32_t rank, Token token);

  /// A transfer starts or stops to touch the rank.
  void occupy(std::uint32_t rank, Touch touch);
  void vacate(std::uint32_t rank, Touch touch);

 private:
  struct Running {
    Token token = 0;
    double left = 0;  ///< seconds of undisturbed compute at `since`
    double since = 0;
    Transport::Timer timer = nullptr;
  };

  struct Device {
    std::array<int, 2> transfers{};  ///< [touch]
    std::vector<Running> running;
  };

  [[nodiscard]] double speed(const Device& device) const;

  void arm(const Device& device, Running& running);
  void change(Device& device, Touch touch, int by);

  std::vector<Device> devices_;
  Slowdowns slowdowns_{};
  Transport& transport_;
};

}  // namespace lamina::replay
