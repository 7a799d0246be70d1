#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace lamina::cli {

/// What a run cost Lamina itself. Never part of a result: results are byte-identical from run to run.
class Stopwatch {
 public:
  Stopwatch() : start_(std::chrono::steady_clock::now()) {}

  /// "0.42 s, 300000 activities/s, peak memory 57 MB": since construction; memory is the largest of this process and of
  /// its finished children.
  [[nodiscard]] std::string describe(std::int64_t activities) const;

 private:
  std::chrono::steady_clock::time_point start_;
};

}  // namespace lamina::cli
