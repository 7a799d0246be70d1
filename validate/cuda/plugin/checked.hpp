#pragma once

#include <string>

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <nccl.h>

namespace lamina::validate::cuda {

/// A call of a library, for messages.
struct Call {
  const char* text = "";
  const char* file = "";
  int line = 0;
};

/// @throws EnvironmentError with file, line, the call and the library's reason; without a driver, that instead
void check(cudaError_t status, const Call& call);
void check(cublasStatus_t status, const Call& call);
void check(ncclResult_t status, const Call& call);

/// @throws EnvironmentError "FILE:LINE: CALL: REASON"
[[noreturn]] void throw_fault(const Call& call, const std::string& reason);

/// "1.5 GiB", "12 B".
[[nodiscard]] std::string bytes_text(double bytes);

}  // namespace lamina::validate::cuda

/// Of every call of CUDA, cuBLASLt and NCCL; a macro for the sake of the call's text.
#define LAMINA_CHECKED(...) \
  ::lamina::validate::cuda::check((__VA_ARGS__), ::lamina::validate::cuda::Call{#__VA_ARGS__, __FILE__, __LINE__})
