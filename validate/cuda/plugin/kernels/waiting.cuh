#pragma once

// Kernels that wait for a date of the device's clock.
#include "validate/cuda/plugin/kernels.hpp"
#include "validate/cuda/plugin/kernels/launch.cuh"

namespace lamina::validate::cuda::kernels {
namespace {

__device__ void wait_until(unsigned long long date) {
  while (device_nanoseconds() < date) {
    __nanosleep(100);
  }
}

__global__ void hold_for(unsigned long long nanoseconds) {
  wait_until(device_nanoseconds() + nanoseconds);
}

__global__ void note_date(std::uint64_t* word) {
  *word = device_nanoseconds();
}

__global__ void hold_from(const std::uint64_t* word, unsigned long long nanoseconds) {
  wait_until(*word + nanoseconds);
}

unsigned long long nanoseconds_of(double seconds) {
  return seconds > 0 ? static_cast<unsigned long long>(seconds * 1e9 + 0.5) : 0;
}

}  // namespace

cudaError_t hold(double seconds, cudaStream_t stream) {
  return launch(hold_for, 1, 1, stream, nanoseconds_of(seconds));
}

cudaError_t stamp(std::uint64_t* word, cudaStream_t stream) {
  return launch(note_date, 1, 1, stream, word);
}

cudaError_t hold_after(const std::uint64_t* word, double seconds, cudaStream_t stream) {
  return launch(hold_from, 1, 1, stream, word, nanoseconds_of(seconds));
}

}  // namespace lamina::validate::cuda::kernels
