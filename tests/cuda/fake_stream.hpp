#pragma once

#include <cuda_runtime_api.h>

namespace lamina::tests::fake {

/// The status that a function returns at this call; counts it.
[[nodiscard]] int status_of(const char* function);

[[nodiscard]] double& clock_of(cudaStream_t stream);
void pass_time(cudaStream_t stream, double seconds);

}  // namespace lamina::tests::fake
