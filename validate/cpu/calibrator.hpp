#pragma once

#include <functional>
#include <vector>

#include "validate/cpu/calibration.hpp"
#include "validate/cpu/cpu_backend.hpp"

namespace lamina::validate::cpu {

/// Micro-benchmarks of one rank on the very kernels and pipes of a step, apart from any step. All methods are
/// collective: every rank calls them in the same order.
class Calibrator {
 public:
  Calibrator(const Machine& machine, std::int32_t rank);

  /// Kernels; then messages, pipe by pipe of each kind of path, alone and beside kernels; then host copies.
  [[nodiscard]] RankCalibration run();

  /// First use of all memory, and every kernel once: only how long to wait for a rank follows from it.
  [[nodiscard]] RankCalibration warm_up_only();

  /// The rank's lists in turn, so that each finds the caches as a step leaves them, on all ranks at once.
  [[nodiscard]] KernelSamples kernels(int rounds);

 private:
  /// One exchange over a pipe or a ring, again and again.
  struct Traffic {
    bool takes_part = false;
    double messages = 1;  ///< of one exchange, one after the other
    std::function<void()> exchange;
  };

  void warm_up();

  /// Kernels and messages at once.
  struct Beside {
    double message_s = 0;
    double share = 0;  ///< of the kernels' time that messages cost them
  };

  [[nodiscard]] Traffic traffic(std::size_t pipe, std::size_t bytes) const;
  [[nodiscard]] double alone(const Traffic& over, int count);
  [[nodiscard]] Beside beside(const Traffic& over, int count);
  /// Messages of a step of this rank over paths of a kind; steps of rings one by one, an all-reduce's halves as one.
  [[nodiscard]] double messages_of(const PathKey& key) const;
  void messages(std::size_t pipe);

  const Machine& machine_;
  std::int32_t rank_;
  std::size_t program_;
  std::vector<int> used_;  ///< lists of this rank
  RankCalibration result_;
};

/// Seconds that the longest exchange of the calibration takes at least, on the deployment's links: a message as large
/// as any of its pipe, or an all-reduce round a ring.
[[nodiscard]] double slowest_exchange(const Plan& plan, const deployment::Deployment& deployment);

}  // namespace lamina::validate::cpu
