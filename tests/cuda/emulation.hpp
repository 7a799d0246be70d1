#pragma once

// Compiles a .cu file for a processor, and runs its kernels there: included before its first line. The threads of a
// block are fibers that change places at barriers and shuffles; blocks run one after the other.
#include <cmath>
#include <cstddef>
#include <functional>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#undef __global__
#undef __device__
#undef __shared__
#define __global__
#define __device__
#define __shared__ static

namespace lamina::tests::emulation {

struct Index {
  unsigned x = 0;
};

extern Index thread_index;
extern Index block_index;
extern Index block_size;
extern Index grid_size;

/// Waits for all threads of the block.
void wait_for_block();

/// What the thread `lane` xor `mask` of the same warp hands over.
[[nodiscard]] float exchange(float value, int mask);

/// @return what a launch returns
[[nodiscard]] cudaError_t run(std::size_t blocks, unsigned threads, cudaStream_t stream,
                              const std::function<void()>& kernel);

}  // namespace lamina::tests::emulation

#define threadIdx ::lamina::tests::emulation::thread_index
#define blockIdx ::lamina::tests::emulation::block_index
#define blockDim ::lamina::tests::emulation::block_size
#define gridDim ::lamina::tests::emulation::grid_size
#define __syncthreads ::lamina::tests::emulation::wait_for_block

namespace lamina::validate::cuda::kernels {

inline float __shfl_xor_sync(unsigned /*all*/, float value, int mask) {
  return tests::emulation::exchange(value, mask);
}

inline float rsqrtf(float x) {
  return 1 / std::sqrt(x);
}

inline void atomicAdd(float* sum, float value) {
  *sum += value;
}

inline void atomicAdd(__half* sum, __half value) {
  *sum = __float2half(__half2float(*sum) + __half2float(value));
}

inline void atomicAdd(__nv_bfloat16* sum, __nv_bfloat16 value) {
  *sum = __float2bfloat16(__bfloat162float(*sum) + __bfloat162float(value));
}

template <class... Parameters, class... Arguments>
cudaError_t launch(void (*kernel)(Parameters...), std::size_t blocks, unsigned threads, cudaStream_t stream,
                   Arguments... arguments) {
  return tests::emulation::run(blocks, threads, stream, [&] { kernel(arguments...); });
}

}  // namespace lamina::validate::cuda::kernels
