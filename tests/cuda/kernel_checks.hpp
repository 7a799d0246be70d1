#pragma once

#include <string>
#include <vector>

namespace lamina::tests {

/// One kernel, in one data type, held against the same formula in double precision on the processor.
struct KernelCheck {
  std::string name;      ///< "softmax, bf16"
  double error = 0;      ///< largest difference over largest value of the reference
  double tolerance = 0;  ///< a few roundings of the data type
  std::string skipped;   ///< why it was not run; then `error` says nothing

  [[nodiscard]] bool agrees() const { return !skipped.empty() || error <= tolerance; }
};

/// Runs every kernel of the CUDA back end and its matrix products on the current device.
/// @throws EnvironmentError of the back end
[[nodiscard]] std::vector<KernelCheck> check_kernels();

}  // namespace lamina::tests
