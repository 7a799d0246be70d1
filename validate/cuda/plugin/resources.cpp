#include "validate/cuda/plugin/resources.hpp"

#include <chrono>
#include <thread>

#include "sim/error/error.hpp"

namespace lamina::validate::cuda {
namespace {

[[noreturn]] void throw_full(const std::string& kind, std::size_t bytes, const std::string& needed_for) {
  std::size_t free = 0;
  std::size_t total = 0;
  (void)cudaGetLastError();  // an allocation that failed does not spoil the calls after it
  std::string text = "out of " + kind + " memory: " + bytes_text(static_cast<double>(bytes));
  text.append(" (").append(std::to_string(bytes)).append(" bytes) for ").append(needed_for);
  if (kind == "device" && cudaMemGetInfo(&free, &total) == cudaSuccess) {
    text.append("; ").append(bytes_text(static_cast<double>(free))).append(" of ");
    text.append(bytes_text(static_cast<double>(total))).append(" are free");
  }
  throw error::EnvironmentError(text);
}

}  // namespace

DeviceMemory::DeviceMemory(std::size_t bytes, const std::string& needed_for) : size_(bytes) {
  if (bytes == 0) {
    return;
  }
  void* memory = nullptr;
  const cudaError_t status = cudaMalloc(&memory, bytes);
  if (status == cudaErrorMemoryAllocation) {
    throw_full("device", bytes, needed_for);
  }
  check(status, {"cudaMalloc(&memory, bytes)", __FILE__, __LINE__});
  memory_.reset(memory);
}

PinnedMemory::PinnedMemory(std::size_t bytes, const std::string& needed_for) {
  if (bytes == 0) {
    return;
  }
  void* memory = nullptr;
  const cudaError_t status = cudaHostAlloc(&memory, bytes, cudaHostAllocDefault);
  if (status == cudaErrorMemoryAllocation) {
    throw_full("pinned host", bytes, needed_for);
  }
  check(status, {"cudaHostAlloc(&memory, bytes, cudaHostAllocDefault)", __FILE__, __LINE__});
  memory_.reset(memory);
}

Stream make_stream(int priority) {
  cudaStream_t stream = nullptr;
  LAMINA_CHECKED(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, priority));
  return Stream(stream);
}

Event make_event() {
  cudaEvent_t event = nullptr;
  LAMINA_CHECKED(cudaEventCreate(&event));
  return Event(event);
}

double seconds_between(const Event& first, const Event& then) {
  float milliseconds = 0;
  LAMINA_CHECKED(cudaEventElapsedTime(&milliseconds, first.get(), then.get()));
  return static_cast<double>(milliseconds) * 1e-3;
}

void wait_for(cudaStream_t stream, double limit_s, const std::string& what) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::duration<double>(limit_s);
  while (true) {
    const cudaError_t status = cudaStreamQuery(stream);
    if (status == cudaSuccess) {
      return;
    }
    if (status != cudaErrorNotReady) {
      check(status, {"cudaStreamQuery(stream)", __FILE__, __LINE__});
    }
    if (std::chrono::steady_clock::now() > deadline) {
      throw error::EnvironmentError(what + " has not ended within " + std::to_string(static_cast<int>(limit_s)) + " s");
    }
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

}  // namespace lamina::validate::cuda
