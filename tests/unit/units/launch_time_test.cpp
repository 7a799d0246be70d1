#include "sim/units/launch_time.hpp"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

namespace lamina::units {
namespace {

/// A host and a device, kernel by kernel.
struct Clocks {
  double host = 0;
  double device = 0;

  void run(double device_s, double host_s) {
    host += host_s;
    device = std::max(device, host) + device_s;
  }
};

TEST(LaunchTime, IsTheKernelByKernelQueueFromAnyStart) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> seconds(0, 1);
  for (int trial = 0; trial < 200; ++trial) {
    const Clocks begin{seconds(random) * 5, seconds(random) * 5};
    Clocks clocks = begin;
    LaunchTime total;
    LaunchTime part;
    for (int kernel = 0; kernel < 12; ++kernel) {
      const double device_s = seconds(random);
      const double host_s = seconds(random);
      clocks.run(device_s, host_s);
      part += LaunchTime::of(device_s, host_s);
      if (kernel % 4 == 3) {  // in three parts: any grouping is the same
        total += part;
        part = {};
      }
    }
    EXPECT_NEAR(std::max(begin.device + total.device_s, begin.host + total.tail_s), clocks.device, 1e-12);
    EXPECT_NEAR(begin.host + total.host_s, clocks.host, 1e-12);
  }
}

TEST(LaunchTime, OfManySmallKernelsIsTheHostsAndOfLargeOnesTheDevices) {
  LaunchTime small;
  LaunchTime large;
  for (int kernel = 0; kernel < 100; ++kernel) {
    small += LaunchTime::of(1, 4);
    large += LaunchTime::of(4, 1);
  }
  EXPECT_DOUBLE_EQ(small.tail_s, 100 * 4 + 1);
  EXPECT_DOUBLE_EQ(large.tail_s, 1 + 100 * 4);
}

}  // namespace
}  // namespace lamina::units
