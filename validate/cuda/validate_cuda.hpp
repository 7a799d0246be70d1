#pragma once

#include <optional>

#include <tl/expected.hpp>

#include "sim/error/error.hpp"
#include "sim/pipeline/simulate.hpp"
#include "sim/scenario/scenario.hpp"
#include "validate/validate.hpp"

namespace lamina::validate::cuda {

struct Settings {
  int repeats = 5;
  int warm_up = 2;
  bool emulate_links = true;  ///< on one GPU: messages take as long as on the scenario's links, else as a device copy
  bool hold_compute = false;  ///< compute only waits as long as the model says: order and transfers are what is tested
  PredictBy predict_by = PredictBy::kMeasurements;
  bool perfetto = false;
};

/// More ranks than that are not put on one GPU.
inline constexpr int kMostRanksOfOneDevice = 64;

/// Executes the scenario's graph on GPUs: matrix products by cuBLASLt, kernels of our own, messages and collectives by
/// NCCL, host copies through pinned memory. Calibrates kernels first, and compares with the replay of what was
/// calibrated. With as many GPUs as ranks each has one and a process of its own, started here or by a launcher
/// (validate/ranks/remote.hpp); with fewer, one process drives all ranks on the first GPU.
/// @return Infeasible as validate_virtual, and for too many ranks; nothing in processes of a launcher other than rank
/// 0's, which reports
/// @throws EnvironmentError without plug-in, driver or GPU, when a rank fails, or when the launcher has started another
/// number of processes than there are ranks
[[nodiscard]] tl::expected<std::optional<Validated>, error::Infeasible> validate_cuda(
    const scenario::Scenario& scenario, const pipeline::Catalogs& catalogs, const Settings& settings);

/// GPUs of this machine, found by a process of its own: one that has used CUDA cannot fork.
/// @throws EnvironmentError without plug-in, driver or GPU
[[nodiscard]] int count_devices();

}  // namespace lamina::validate::cuda
