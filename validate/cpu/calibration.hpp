#pragma once

#include <string>
#include <tuple>
#include <vector>

#include "sim/deployment/deployment.hpp"
#include "validate/cpu/host_store.hpp"
#include "validate/cpu/plan.hpp"
#include "validate/kernel_calls.hpp"

namespace lamina::validate::cpu {

/// Paths that cost the same have the same key: latency and time per byte of the scenario, and whether messages are
/// steps of a ring, which go both ways at once and are summed.
using PathKey = std::tuple<double, double, bool>;

[[nodiscard]] PathKey key_of(const deployment::Deployment& deployment, std::int32_t path, bool in_ring);

/// Time per message, both ends ready.
struct MessageCost {
  double small_s = 0;
  double large_s = 0;
};

/// Of a stream of messages over a pipe, or of a ring all-reduce that it is an edge of.
struct PipeCost {
  std::uint64_t pipe = 0;
  double small_bytes = 0;
  double large_bytes = 0;
  MessageCost alone;
  MessageCost beside;  ///< kernels, which share the cores with the ends
};

using KernelSamples = std::vector<std::vector<double>>;  ///< [list] seconds; none where the rank does not run it

[[nodiscard]] std::string pack_samples(const KernelSamples& samples);

/// Share of their time that kernels lose to transfers beside them, and how long a step's transfers of this kind take.
struct BusyShare {
  double share = 0;
  double weight_s = 0;

  /// Takes another kind of path in, by weight.
  void add(const BusyShare& other);
};

/// What one rank measured apart from any step.
struct RankCalibration {
  std::string engine;
  double memory_bytes = 0;
  KernelSamples list_samples;
  std::vector<PipeCost> pipes;  ///< of those that end here
  BusyShare busy;               ///< kernels beside rings and messages that this rank sends
  BusyShare busy_receiving;     ///< beside messages that it receives
  CopyCosts copies;

  void add_samples(const std::string& packed);

  [[nodiscard]] std::string pack() const;
  [[nodiscard]] static RankCalibration unpack(const std::string& text);
};

/// The model of this machine: what the ranks measured put into deployment and durations.
struct Calibrated {
  deployment::Deployment deployment;
  std::vector<std::vector<double>> durations;  ///< [rank][operation]
  double slowdown = 0;                         ///< replay::Options::communication_slowdown
  double receiving_slowdown = 0;               ///< replay::Options::receiving_slowdown
  double spread = 0;                           ///< of kernels, by time
};

/// @param measured_rates the network's own: latency and bandwidth are taken from the stream of messages. Otherwise the
/// deployment's links are emulated, and only the overhead of the ends is added to their latency.
/// @param hidden share of transfer time that lies beside compute: messages cost what they cost alone, or beside
/// kernels, in these parts
/// @param files host copies went to files
[[nodiscard]] Calibrated apply(const std::vector<RankCalibration>& ranks, const deployment::Deployment& deployment,
                               const Plan& plan, const KernelCalls& calls, bool measured_rates, double hidden,
                               bool files);

}  // namespace lamina::validate::cpu
