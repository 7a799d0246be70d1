#include <gtest/gtest.h>

#include "tests/cuda/fake_device.hpp"
#include "tests/cuda/kernel_checks.hpp"

namespace lamina::tests {
namespace {

// The kernels' own source, its threads run on a processor, and the calls of cuBLASLt as its manual defines them.
TEST(CudaKernels, ComputeWhatTheirFormulasSay) {
  const fake::Fresh fresh;
  const std::vector<KernelCheck> checks = check_kernels();
  EXPECT_GE(checks.size(), 100U);
  for (const KernelCheck& check : checks) {
    EXPECT_TRUE(check.agrees()) << check.name << ": " << check.error << ", at most " << check.tolerance;
    EXPECT_EQ(check.skipped, "") << check.name;
  }
}

}  // namespace
}  // namespace lamina::tests
