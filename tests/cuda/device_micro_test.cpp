#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/error/error.hpp"
#include "tests/cuda/fake_device.hpp"
#include "validate/cuda/plugin/micro.hpp"

namespace lamina::validate::cuda {
namespace {

/// Squares of 512, 1,024 and 2,048, and copies of 1 and 16 MiB.
cpu::MicroPlan small_plan() {
  cpu::MicroPlan plan;
  for (const std::int64_t size : {512, 1024, 2048}) {
    KernelCall call;
    call.kernel.m = call.kernel.n = call.kernel.k = size;
    cpu::MicroCase one;
    one.name = "square";
    one.calls = {call};
    one.flops = 2.0 * static_cast<double>(size * size * size);
    plan.products.push_back(one);
  }
  plan.copies = {std::size_t{1} << 20, std::size_t{16} << 20};
  return plan;
}

MicroResult measure_small(const cpu::MicroPlan& plan) {
  return measure({&plan, 2, 0});
}

TEST(DeviceMicroBenchmarks, FindTheRatesOfTheFakeDevice) {
  const tests::fake::Fresh fresh;
  tests::fake::State& state = tests::fake::state();
  state.runs_kernels = false;
  state.kernel_s = 5e-6;
  state.flops_per_s = 1e14;
  state.from_host_latency_s = 1e-5;
  state.from_host_s_per_byte = 1 / 25e9;
  const cpu::MicroPlan plan = small_plan();
  int products = 0;
  int copies = 0;
  for (const MicroTiming& timing : measure_small(plan).timings) {
    if (timing.group == MicroGroup::kProducts && timing.fate == cpu::MicroFate::kMeasured) {
      const double expected = plan.products[timing.index].flops / 1e14;
      EXPECT_NEAR(timing.seconds, expected, 1e-3 * expected);
      ++products;
    } else if (timing.group == MicroGroup::kFromHost) {
      const double expected = 1e-5 + static_cast<double>(plan.copies[timing.index]) / 25e9;
      EXPECT_NEAR(timing.seconds, expected, 1e-3 * expected);
      ++copies;
    }
  }
  EXPECT_GE(products, 3);
  EXPECT_EQ(copies, 2);
}

TEST(DeviceMicroBenchmarks, BecomeHardwareWithTheFakeDevicesRates) {
  const tests::fake::Fresh fresh;
  tests::fake::State& state = tests::fake::state();
  state.runs_kernels = false;
  state.kernel_s = 5e-6;
  state.flops_per_s = 1e14;
  state.from_host_s_per_byte = 1 / 25e9;
  const cpu::MicroPlan plan = small_plan();
  const calibration::Calibration made = micro_calibration(plan, measure_small(plan), "mine");
  int found = 0;
  for (const calibration::Entry& entry : made.entries) {
    for (const calibration::Constant& constant : entry.constants) {
      if (entry.name == "mine" && entry.kind == calibration::Kind::kAccelerator && constant.key == "peak") {
        EXPECT_NEAR(constant.value, 1e14, 1e11);
        ++found;
      } else if (entry.name == "mine" && entry.kind == calibration::Kind::kHostPath && constant.key == "bandwidth") {
        EXPECT_NEAR(constant.value, 25e9, 25e6);
        ++found;
      }
    }
  }
  EXPECT_EQ(found, 2);
  EXPECT_FALSE(made.skipped.empty());
}

TEST(DeviceMicroBenchmarks, LeaveOutWhatTheMemoryDoesNotHold) {
  const tests::fake::Fresh fresh;
  tests::fake::state().runs_kernels = false;
  tests::fake::state().memory_bytes = 4e6;
  int missing = 0;
  for (const MicroTiming& timing : measure_small(small_plan()).timings) {
    missing += timing.fate == cpu::MicroFate::kNoMemory ? 1 : 0;
  }
  EXPECT_GE(missing, 3);
}

TEST(DeviceMicroBenchmarks, WithoutADriverEndWithAnEnvironmentError) {
  const tests::fake::Fresh fresh;
  tests::fake::state().fail["cudaGetDeviceCount"] = 35;
  EXPECT_THROW((void)measure_small(small_plan()), error::EnvironmentError);
}

}  // namespace
}  // namespace lamina::validate::cuda
