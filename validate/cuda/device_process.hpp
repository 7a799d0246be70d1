#pragma once

#include <string>
#include <vector>

#include "validate/cuda/cuda_backend.hpp"
#include "validate/cuda/validate_cuda.hpp"
#include "validate/prepare.hpp"
#include "validate/ranks/control.hpp"

namespace lamina::validate::cuda {

/// What all processes know.
struct Job {
  const Executable& executable;
  const scenario::Scenario& scenario;
  const Settings& settings;
  const KernelCalls& calls;
  bool one_device = true;  ///< one process drives all ranks
};

/// What a process measured before its first step.
struct Calibration {
  std::string device;
  double memory_bytes = 0;
  ListTimes lists;

  [[nodiscard]] std::string pack() const;
  [[nodiscard]] static Calibration unpack(const std::string& text);
};

/// From a process's first to its last word: a calibration, and then `repeats` records of steps.
void drive_devices(const Job& job, int rank, int local_rank, ranks::Control& control);

/// A step from what all processes recorded.
[[nodiscard]] Execution merge_records(const Job& job, const std::vector<std::string>& reports);

}  // namespace lamina::validate::cuda
