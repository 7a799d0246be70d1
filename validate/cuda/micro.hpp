#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/scenario/scenario.hpp"
#include "validate/calibration/calibration.hpp"
#include "validate/cpu/micro_benchmarks.hpp"
#include "validate/cuda/cuda_backend.hpp"

/// Micro-benchmarks on one GPU, for `lamina calibrate --device cuda`.
namespace lamina::validate::cuda {

enum class MicroGroup : std::int32_t { kProducts, kMemory, kFromHost, kToHost, kLaunches };

/// Rows of MicroGroup::kLaunches.
inline constexpr std::size_t kLaunchFloor = 0;  ///< the smallest kernel between two events
inline constexpr std::size_t kLaunchGap = 1;    ///< one of many smallest kernels that follow each other

inline constexpr int kLaunchesInARow = 100;

struct MicroRequest {
  const cpu::MicroPlan* plan = nullptr;  ///< its products, and the sizes of its copies
  double seconds = 60;                   ///< in which all ends, but for what has begun
  int device = 0;
};

/// Seconds are medians of one execution, by events of the stream; `spread` is interquartile range over median.
struct MicroTiming {
  MicroGroup group = MicroGroup::kProducts;
  scenario::DataType type = scenario::DataType::kBf16;  ///< of products
  std::size_t index = 0;                                ///< in the plan's list
  cpu::MicroFate fate = cpu::MicroFate::kMeasured;
  double seconds = 0;
  double spread = 0;
  double samples = 0;
};

struct MicroResult {
  Device device;
  std::string software;  ///< versions of driver and CUDA
  std::vector<MicroTiming> timings;
};

/// Entry point `lamina_cuda_measure`. Memory that is not there and types that the device does not multiply are fates.
/// @throws EnvironmentError without driver or device, or when a call fails
using Measure = void(const MicroRequest& request, MicroResult& result);

/// Loads the plug-in and measures in this process.
/// @throws EnvironmentError without plug-in, driver or GPU
[[nodiscard]] MicroResult run_micro_benchmarks(const MicroRequest& request);

/// Accelerator NAME (peak: the best product; memory bandwidth: the largest copy on the device) with the cost model of
/// its first type, NAME-<type> of the others; host paths NAME (host to device) and NAME-to-host.
/// @throws EnvironmentError when no product or no copy on the device was measured
[[nodiscard]] calibration::Calibration micro_calibration(const cpu::MicroPlan& plan, const MicroResult& result,
                                                         const std::string& name);

}  // namespace lamina::validate::cuda
