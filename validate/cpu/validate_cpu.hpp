#pragma once

#include <filesystem>
#include <optional>

#include <tl/expected.hpp>

#include "sim/error/error.hpp"
#include "sim/pipeline/simulate.hpp"
#include "sim/scenario/scenario.hpp"
#include "validate/cpu/wires.hpp"
#include "validate/validate.hpp"

namespace lamina::validate::cpu {

/// The library of matrix products; each is a plug-in.
enum class Engine {
  kOneDnn,    ///< bf16 and float32
  kOpenBlas,  ///< float32
};

struct Settings {
  int repeats = 5;
  int warm_up = 2;
  Wires wires = Wires::kSharedMemory;
  Engine engine = Engine::kOneDnn;
  std::filesystem::path offload_folder;  ///< host copies go to files there; empty: to memory, at the pace of the paths
  PredictBy predict_by = PredictBy::kMeasurements;
  bool perfetto = false;
};

/// More ranks than that are not put on one machine.
inline constexpr int kMostRanks = 64;

/// Executes the scenario's graph on cores of this machine, a process per rank: kernels of the model's shapes, messages,
/// rings and host copies are real. Calibrates first, and compares with the replay of what was calibrated.
/// Started by torchrun or Open MPI's launcher (ranks::find_place) it is one rank among their processes, on any
/// machines.
/// @return nothing in a process whose results another one prints; Infeasible as validate_virtual, for a custom model
/// (it has no kernels), and for data types that cores, or the library, do not multiply
/// @throws EnvironmentError when a rank fails, or the machine lacks library, memory, folder or room in it
[[nodiscard]] tl::expected<std::optional<Validated>, error::Infeasible> validate_cpu(const scenario::Scenario& scenario,
                                                                                     const pipeline::Catalogs& catalogs,
                                                                                     const Settings& settings);

}  // namespace lamina::validate::cpu
