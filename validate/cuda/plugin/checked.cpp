#include "validate/cuda/plugin/checked.hpp"

#include <cstdio>
#include <string_view>

#include "sim/error/error.hpp"

namespace lamina::validate::cuda {
namespace {

/// Without the folders of whoever built it.
std::string_view short_path(std::string_view file) {
  const std::size_t start = file.rfind("validate/cuda");
  return start == std::string_view::npos ? file : file.substr(start);
}

std::string cuda_reason(cudaError_t status) {
  return std::string(cudaGetErrorString(status)).append(" (").append(cudaGetErrorName(status)).append(")");
}

[[noreturn]] void throw_no_driver(cudaError_t status) {
  int driver = 0;
  (void)cudaDriverGetVersion(&driver);
  std::string text = status == cudaErrorNoDevice
                         ? "no CUDA device: a driver is installed, but no GPU is visible"
                         : "no CUDA driver: libcuda.so.1 is missing, a stub, or older than this build asks for";
  if (driver > 0) {
    text.append("; the driver knows CUDA ").append(std::to_string(driver / 1000));
    text.append(".").append(std::to_string(driver % 1000 / 10));
  }
  throw error::EnvironmentError(
      text.append(" (").append(cudaGetErrorName(status)).append("). Virtual devices and processor cores need none."));
}

}  // namespace

void throw_fault(const Call& call, const std::string& reason) {
  std::string text(short_path(call.file));
  throw error::EnvironmentError(
      text.append(":").append(std::to_string(call.line)).append(": ").append(call.text).append(": ").append(reason));
}

void check(cudaError_t status, const Call& call) {
  switch (status) {
    case cudaSuccess:
      return;
    case cudaErrorInsufficientDriver:
    case cudaErrorStubLibrary:
    case cudaErrorNoDevice:
      throw_no_driver(status);
    default:
      throw_fault(call, cuda_reason(status));
  }
}

void check(cublasStatus_t status, const Call& call) {
  if (status != CUBLAS_STATUS_SUCCESS) {
    throw_fault(
        call,
        std::string(cublasLtGetStatusString(status)).append(" (").append(cublasLtGetStatusName(status)).append(")"));
  }
}

void check(ncclResult_t status, const Call& call) {
  if (status != ncclSuccess && status != ncclInProgress) {
    std::string reason = ncclGetErrorString(status);
    if (const char* more = ncclGetLastError(nullptr); more != nullptr && *more != '\0') {
      reason.append(" (").append(more).append(")");
    }
    throw_fault(call, reason);
  }
}

std::string bytes_text(double bytes) {
  const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (bytes >= 1024 && unit < 4) {
    bytes /= 1024;
    ++unit;
  }
  char text[32];
  (void)std::snprintf(text, sizeof text, "%.3g %s", bytes, units[unit]);
  return text;
}

}  // namespace lamina::validate::cuda
