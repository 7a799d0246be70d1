#include "sim/cli/costs.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <sys/resource.h>

namespace lamina::cli {
namespace {

double peak_memory_megabytes(int who) {
  rusage usage{};
  getrusage(who, &usage);
  constexpr double kMegabytesPerKibibyte = 1024.0 / 1e6;
  return static_cast<double>(usage.ru_maxrss) * kMegabytesPerKibibyte;
}

}  // namespace

std::string Stopwatch::describe(std::int64_t activities) const {
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start_;
  const double rate = static_cast<double>(activities) / std::max(passed.count(), 1e-9);
  const double memory = std::max(peak_memory_megabytes(RUSAGE_SELF), peak_memory_megabytes(RUSAGE_CHILDREN));
  return fmt::format("{:.2f} s, {:.0f} activities/s, peak memory {:.0f} MB", passed.count(), rate, memory);
}

}  // namespace lamina::cli
