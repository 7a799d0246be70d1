#pragma once

#include <algorithm>

namespace lamina::units {

/// Kernels that a host launches one after the other and a device runs in order, each when it has been launched and the
/// one before it is done. With the host free at date t and the device at date d they end at max(d + device_s, t +
/// tail_s), and the host goes on at t + host_s: a (max, +) product, so that any number of kernels is three numbers.
/// Seconds.
struct LaunchTime {
  double device_s = 0;
  double host_s = 0;
  double tail_s = 0;  ///< from the host's first launch to the last kernel's end if the device had been idle

  /// One kernel whose launch keeps the host for `host_s`.
  [[nodiscard]] static LaunchTime of(double device_s, double host_s) { return {device_s, host_s, host_s + device_s}; }

  /// `next` behind these.
  LaunchTime& operator+=(const LaunchTime& next) {
    tail_s = std::max(tail_s + next.device_s, host_s + next.tail_s);
    device_s += next.device_s;
    host_s += next.host_s;
    return *this;
  }
};

}  // namespace lamina::units
