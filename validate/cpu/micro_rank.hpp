#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include "validate/cpu/micro_benchmarks.hpp"
#include "validate/ranks/control.hpp"
#include "validate/statistics.hpp"

/// What the two processes of the micro-benchmarks share.
namespace lamina::validate::cpu {

constexpr std::int64_t kLeastSamples = 5;
constexpr std::int64_t kMostSamples = 51;

/// Median, spread and number of samples.
inline void summarize(const std::vector<double>& samples, MicroTiming& into) {
  into.seconds = quantile(samples, 0.5);
  into.spread = into.seconds > 0 ? (quantile(samples, 0.75) - quantile(samples, 0.25)) / into.seconds : 0;
  into.samples = static_cast<double>(samples.size());
}

/// Time for the cases of one kind, dealt out evenly to those that are left.
class Allowance {
 public:
  Allowance(double end_s, std::size_t cases) : end_s_(end_s), left_(cases) {}

  /// The date until which the next case may repeat itself.
  [[nodiscard]] double next() {
    const double now = ranks::monotonic_s();
    const double share = std::max(0.0, end_s_ - now) / static_cast<double>(std::max<std::size_t>(left_, 1));
    left_ -= left_ > 0 ? 1 : 0;
    return now + share;
  }

  [[nodiscard]] bool over() const { return ranks::monotonic_s() >= end_s_; }

  [[nodiscard]] double end_s() const { return end_s_; }

  [[nodiscard]] double left_s() const { return end_s_ - ranks::monotonic_s(); }

 private:
  double end_s_;
  std::size_t left_;
};

/// Sizes in the order in which they are measured: the largest and the smallest tell most, and are measured in any case.
inline constexpr std::size_t kInAnyCase = 2;

[[nodiscard]] inline std::vector<std::size_t> measuring_order(std::size_t sizes) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < sizes; ++i) {
    order.push_back((i + sizes - 1) % sizes);
  }
  return order;
}

/// Seconds of one `run`: executions too short for the clock are timed several at once. What is warm stays warm.
[[nodiscard]] inline std::vector<double> sample(double until_s, const std::function<void()>& run) {
  constexpr double kLeastSeconds = 20e-6;
  run();
  const double first = ranks::monotonic_s();
  run();
  const double once = std::max(1e-9, ranks::monotonic_s() - first);
  const auto inner = static_cast<int>(std::clamp(std::ceil(kLeastSeconds / once), 1.0, 1000.0));
  std::vector<double> samples;
  for (std::int64_t i = 0; i < kMostSamples; ++i) {
    const double start = ranks::monotonic_s();
    if (i >= kLeastSamples && start >= until_s) {
      break;
    }
    for (int again = 0; again < inner; ++again) {
      run();
    }
    samples.push_back((ranks::monotonic_s() - start) / inner);
  }
  return samples;
}

/// One of two processes that exchange messages over TCP on the loopback interface. Collective: both call it, rank 0
/// measures and decides.
class MicroMessages {
 public:
  /// @param products run on rank 0 beside messages; may be empty
  MicroMessages(const MicroPlan& plan, double seconds, int rank, ranks::Control& control,
                std::function<void()> products);

  /// @param end_s monotonic date
  void run(double end_s, std::vector<MicroTiming>& timings);

 private:
  class Impl;
  const MicroPlan& plan_;
  double seconds_;
  int rank_;
  ranks::Control& control_;
  std::function<void()> products_;
};

/// Copies in memory, and of files in a folder. @return how files were written and read, or why not
void time_copies(const MicroPlan& plan, double end_s, std::vector<MicroTiming>& timings);
[[nodiscard]] std::string time_files(const MicroPlan& plan, const std::filesystem::path& folder, double end_s,
                                     std::vector<MicroTiming>& timings);

/// Bytes that programs may still take; infinity where the system does not say.
[[nodiscard]] double available_memory();

}  // namespace lamina::validate::cpu
