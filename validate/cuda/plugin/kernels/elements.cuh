#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "validate/cuda/plugin/kernels.hpp"
#include "validate/cuda/plugin/kernels/launch.cuh"

namespace lamina::validate::cuda::kernels {

__device__ inline float to_float(float value) {
  return value;
}

__device__ inline float to_float(__half value) {
  return __half2float(value);
}

__device__ inline float to_float(__nv_bfloat16 value) {
  return __bfloat162float(value);
}

template <class T>
__device__ inline T from_float(float value);

template <>
__device__ inline float from_float<float>(float value) {
  return value;
}

template <>
__device__ inline __half from_float<__half>(float value) {
  return __float2half(value);
}

template <>
__device__ inline __nv_bfloat16 from_float<__nv_bfloat16>(float value) {
  return __float2bfloat16(value);
}

/// What one thread moves at once: 16 bytes.
template <class T>
struct alignas(16) Pack {
  static constexpr int kCount = 16 / sizeof(T);
  T values[kCount];
};

/// Calls `visit` with a value of the element's type.
template <class Visit>
cudaError_t with_type(Element element, Visit visit) {
  switch (element) {
    case Element::kFloat:
      return visit(float{});
    case Element::kHalf:
      return visit(__half{});
    case Element::kBfloat:
      break;
  }
  return visit(__nv_bfloat16{});
}

/// Well-mixed bits of a number (the finalizer of MurmurHash3).
__device__ inline unsigned mix(unsigned x) {
  x ^= x >> 16;
  x *= 0x85ebca6bU;
  x ^= x >> 13;
  x *= 0xc2b2ae35U;
  return x ^ (x >> 16);
}

__device__ inline std::size_t first_index() {
  return blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
}

__device__ inline std::size_t stride() {
  return gridDim.x * static_cast<std::size_t>(blockDim.x);
}

}  // namespace lamina::validate::cuda::kernels
