// Every kernel of the CUDA back end against a reference on the processor. Status 0: all agree, 1: some do not,
// 77: there is no usable GPU.
#include <cstdio>
#include <cstring>

#include "sim/error/error.hpp"
#include "tests/cuda/kernel_checks.hpp"
#include "validate/cuda/plugin/device_backend.hpp"

namespace {

constexpr int kNoDevice = 77;

void print_json(const std::vector<lamina::tests::KernelCheck>& checks) {
  std::printf("[");
  for (std::size_t i = 0; i < checks.size(); ++i) {
    std::printf("%s\n  {\"name\": \"%s\", \"error\": %.3g, \"tolerance\": %.3g, \"result\": \"%s\"}", i == 0 ? "" : ",",
                checks[i].name.c_str(), checks[i].error, checks[i].tolerance,
                !checks[i].skipped.empty() ? "skipped"
                : checks[i].agrees()       ? "agrees"
                                           : "differs");
  }
  std::printf("\n]\n");
}

}  // namespace

int main(int count, char** arguments) {
  const bool json = count > 1 && std::strcmp(arguments[1], "--json") == 0;
  if (count > 1 && !json) {
    std::fprintf(stderr, "usage: %s [--json]\n", arguments[0]);
    return 2;
  }
  try {
    for (const lamina::validate::cuda::Device& device : lamina::validate::cuda::find_devices()) {
      std::fprintf(stderr, "%s, compute capability %d.%d\n", device.name.c_str(), device.major, device.minor);
    }
  } catch (const lamina::error::EnvironmentError& fault) {
    std::fprintf(stderr, "skipped: %s\n", fault.what());
    return kNoDevice;
  }
  try {
    const std::vector<lamina::tests::KernelCheck> checks = lamina::tests::check_kernels();
    int differing = 0;
    for (const lamina::tests::KernelCheck& check : checks) {
      differing += check.agrees() ? 0 : 1;
      if (!check.agrees() || !check.skipped.empty()) {
        std::fprintf(stderr, "%s: %s (off by %.3g, at most %.3g)\n", check.name.c_str(),
                     check.skipped.empty() ? "DIFFERS" : check.skipped.c_str(), check.error, check.tolerance);
      }
    }
    if (json) {
      print_json(checks);
    }
    std::fprintf(stderr, "%zu checks, %d differ\n", checks.size(), differing);
    return differing == 0 ? 0 : 1;
  } catch (const std::exception& fault) {
    std::fprintf(stderr, "error: %s\n", fault.what());
    return 1;
  }
}
