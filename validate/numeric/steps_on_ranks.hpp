#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "sim/error/error.hpp"
#include "sim/scenario/scenario.hpp"
#include "validate/cpu/wires.hpp"
#include "validate/numeric/numeric_backend.hpp"
#include "validate/prepare.hpp"

namespace lamina::validate::numeric {

/// More processes than that are not started.
inline constexpr int kMostProcesses = 64;

struct RankSettings {
  cpu::Wires wires = cpu::Wires::kSharedMemory;
  /// In all but the first, operations begin after random pauses of up to 0.2 ms, so that their order varies as far as
  /// the graph allows.
  int executions = 3;
  /// What a rank uses in place of its transport; by default that itself.
  std::function<std::unique_ptr<cpu::Transport>(int rank, std::unique_ptr<cpu::Transport>)> adapt;
};

struct StepsOnRanks {
  std::vector<Step> steps;  ///< [execution]
  std::string fault;        ///< what an operation found missing; empty: nothing
};

/// Computes the step as NumericBackend does, a process per rank with a thread per stream: messages and collectives go
/// over a transport with the numbers in them.
/// @param executable in message form
/// @return Infeasible for models that are no plain decoders, for collectives that are no rings, and too many ranks
/// @throws EnvironmentError when a rank fails otherwise, is killed, or is silent for 25 seconds
[[nodiscard]] tl::expected<StepsOnRanks, error::Infeasible> steps_on_ranks(const scenario::Scenario& scenario,
                                                                           const Executable& executable,
                                                                           const RankSettings& settings);

}  // namespace lamina::validate::numeric
