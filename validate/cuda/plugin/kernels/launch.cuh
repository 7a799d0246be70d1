#pragma once

#include <cstddef>

#include <cuda_runtime.h>

namespace lamina::validate::cuda::kernels {

inline constexpr unsigned kThreads = 256;
#ifdef __CUDACC__
inline constexpr std::size_t kMostBlocks = 8192;  // grid-stride loops do the rest
#else
inline constexpr std::size_t kMostBlocks = 2;  // on a processor, where a block is slow to start
#endif

/// Blocks for a grid-stride loop over `count`.
inline std::size_t blocks_for(std::size_t count) {
  const std::size_t blocks = (count + kThreads - 1) / kThreads;
  return blocks == 0 ? 1 : blocks < kMostBlocks ? blocks : kMostBlocks;
}

#ifdef __CUDACC__  // elsewhere (tests run these kernels on a processor) whoever compiles them says what a launch is
template <class... Parameters, class... Arguments>
cudaError_t launch(void (*kernel)(Parameters...), std::size_t blocks, unsigned threads, cudaStream_t stream,
                   Arguments... arguments) {
  kernel<<<static_cast<unsigned>(blocks), threads, 0, stream>>>(static_cast<Parameters>(arguments)...);
  return cudaGetLastError();
}

inline __device__ unsigned long long device_nanoseconds() {
  unsigned long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}
#endif

}  // namespace lamina::validate::cuda::kernels
