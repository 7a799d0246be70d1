#pragma once

#include <string>
#include <vector>

#include "sim/deployment/deployment.hpp"
#include "validate/cpu/cpu_backend.hpp"

namespace lamina::validate::cpu {

/// Time per message of a stream of them over a pipe, both ends ready.
struct PipeCost {
  std::uint64_t pipe = 0;
  double small_bytes = 0;
  double small_s = 0;
  double large_bytes = 0;
  double large_s = 0;
};

/// What one rank measured apart from any step.
struct RankCalibration {
  std::string engine;
  double memory_bytes = 0;
  std::vector<double> list_s;       ///< [list] median; 0 where the rank does not run it
  std::vector<double> list_spread;  ///< [list] interquartile range over median
  std::vector<PipeCost> pipes;      ///< of those that end here
  double busy_ratio = 1;            ///< time of kernels beside messages over their time alone
  double copy_overhead_s = 0;       ///< of a host copy, beyond what its path takes

  [[nodiscard]] std::string pack() const;
  [[nodiscard]] static RankCalibration unpack(const std::string& text);
};

/// Kernels of all ranks at once, as in a step; then messages, pipe by pipe of each kind of path, alone and beside
/// kernels. Collective: every rank calls it.
[[nodiscard]] RankCalibration calibrate(const Machine& machine, std::int32_t rank);

/// The model of this machine: what the ranks measured put into deployment and durations.
struct Calibrated {
  deployment::Deployment deployment;
  std::vector<std::vector<double>> durations;  ///< [rank][operation]
  double slowdown = 0;                         ///< replay::Options::communication_slowdown
  double spread = 0;                           ///< of kernels, by time
};

/// @param measured_rates the network's own: latency and bandwidth are taken from the stream of messages. Otherwise the
/// deployment's links are emulated, and only the overhead of the ends is added to their latency.
[[nodiscard]] Calibrated apply(const std::vector<RankCalibration>& ranks, const deployment::Deployment& deployment,
                               const Plan& plan, const KernelCalls& calls, bool measured_rates);

/// Copies at the pace of a path.
void copy_paced(const std::vector<float>& from, std::vector<float>& to, std::size_t bytes, std::int32_t path,
                SharedMemory& memory);

}  // namespace lamina::validate::cpu
