// The CUDA runtime of a device that is not there.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <cuda_runtime_api.h>

#include "tests/cuda/fake_device.hpp"
#include "tests/cuda/fake_stream.hpp"
#include "validate/cuda/plugin/kernels.hpp"

namespace lamina::tests::fake {

namespace {

/// In a process of the command: devices as the environment says, which only let time pass.
State initial_state() {
  State state;
  if (const char* devices = std::getenv("LAMINA_FAKE_DEVICES"); devices != nullptr) {
    state.runs_kernels = false;
    state.devices = std::atoi(devices);
    state.kernel_s = 5e-6;
    state.flops_per_s = 1e14;
    state.nccl_s = 1e-5;
  }
  if (const char* fault = std::getenv("LAMINA_FAKE_FAULT"); fault != nullptr) {  // "ncclSend=2"
    const std::string text = fault;
    const std::size_t middle = text.find('=');
    state.fail[text.substr(0, middle)] = std::atoi(text.c_str() + middle + 1);
  }
  if (const char* memory = std::getenv("LAMINA_FAKE_MEMORY"); memory != nullptr) {
    state.memory_bytes = std::atof(memory);
  }
  return state;
}

}  // namespace

State& state() {
  static State instance = initial_state();
  return instance;
}

int status_of(const char* function) {
  State& of = state();
  ++of.calls[function];
  const auto found = of.fail.find(function);
  if (found == of.fail.end() || of.fail_after[function]-- > 0) {
    return 0;
  }
  return found->second;
}

void pass_time(cudaStream_t stream, double seconds) {
  clock_of(stream) += seconds;
}

double& clock_of(cudaStream_t stream) {
  double& clock = *reinterpret_cast<double*>(stream);
  clock = std::max(clock, state().host_s);  // nothing happens before it was asked for
  return clock;
}

namespace {

double& date_of(cudaEvent_t event) {
  return *reinterpret_cast<double*>(event);
}

cudaError_t cuda_status(const char* function) {
  return static_cast<cudaError_t>(status_of(function));
}

cudaError_t allocate(void** memory, std::size_t bytes, const char* function) {
  if (const cudaError_t status = cuda_status(function); status != cudaSuccess) {
    return status;
  }
  if (static_cast<double>(bytes) > state().memory_bytes) {
    return cudaErrorMemoryAllocation;
  }
  state().memory_bytes -= static_cast<double>(bytes);
  constexpr std::size_t kUntouched = 1 << 16;  // where only time passes, nobody reads more than a date
  const std::size_t kept = state().runs_kernels ? bytes : std::min(bytes, kUntouched);
  *memory = std::aligned_alloc(256, (kept + 255) / 256 * 256);
  return *memory == nullptr ? cudaErrorMemoryAllocation : cudaSuccess;
}

template <class Handle>
cudaError_t make_clock(Handle* handle, const char* function) {
  *handle = reinterpret_cast<Handle>(new double(0));
  return cuda_status(function);
}

}  // namespace
}  // namespace lamina::tests::fake

using lamina::tests::fake::clock_of;
using lamina::tests::fake::cuda_status;
using lamina::tests::fake::date_of;
using lamina::tests::fake::pass_time;
using lamina::tests::fake::state;

namespace lamina::validate::cuda::kernels {

cudaError_t hold(double seconds, cudaStream_t stream) {
  pass_time(stream, seconds);
  return cuda_status("hold");
}

cudaError_t stamp(std::uint64_t* word, cudaStream_t stream) {
  std::memcpy(word, &clock_of(stream), sizeof *word);
  return cuda_status("stamp");
}

cudaError_t hold_after(const std::uint64_t* word, double seconds, cudaStream_t stream) {
  double date = 0;
  std::memcpy(&date, word, sizeof date);
  clock_of(stream) = std::max(clock_of(stream), date + seconds);
  return cuda_status("hold_after");
}

}  // namespace lamina::validate::cuda::kernels

extern "C" {

cudaError_t cudaDriverGetVersion(int* version) {
  *version = 13000;
  return cuda_status("cudaDriverGetVersion");
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = 13000;
  return cuda_status("cudaRuntimeGetVersion");
}

cudaError_t cudaGetDeviceCount(int* count) {
  *count = state().devices;
  return cuda_status("cudaGetDeviceCount");
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  std::memset(properties, 0, sizeof *properties);
  std::snprintf(properties->name, sizeof properties->name, "a device that is not there");
  properties->major = 9;
  properties->multiProcessorCount = 132;
  return cuda_status("cudaGetDeviceProperties");
}

const char* cudaGetErrorName(cudaError_t status) {
  return status == cudaErrorMemoryAllocation ? "cudaErrorMemoryAllocation" : "cudaErrorOfTheFake";
}

const char* cudaGetErrorString(cudaError_t status) {
  return status == cudaErrorLaunchFailure ? "unspecified launch failure" : "an error of the fake";
}

cudaError_t cudaSetDevice(int) {
  return cuda_status("cudaSetDevice");
}

cudaError_t cudaGetLastError() {
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  return lamina::tests::fake::allocate(memory, bytes, "cudaMalloc");
}

cudaError_t cudaHostAlloc(void** memory, std::size_t bytes, unsigned) {
  return lamina::tests::fake::allocate(memory, bytes, "cudaHostAlloc");
}

cudaError_t cudaFree(void* memory) {
  std::free(memory);
  return cuda_status("cudaFree");
}

cudaError_t cudaFreeHost(void* memory) {
  return cudaFree(memory);
}

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  *free = static_cast<std::size_t>(state().memory_bytes);
  *total = *free * 2;
  return cuda_status("cudaMemGetInfo");
}

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind) {
  std::memcpy(to, from, bytes);
  return cuda_status("cudaMemcpy");
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  if (state().runs_kernels) {
    std::memcpy(to, from, bytes);
  }
  const auto count = static_cast<double>(bytes);
  if (kind == cudaMemcpyDeviceToHost) {
    pass_time(stream, state().to_host_latency_s + count * state().to_host_s_per_byte);
  } else if (kind == cudaMemcpyHostToDevice) {
    pass_time(stream, state().from_host_latency_s + count * state().from_host_s_per_byte);
  }
  return cuda_status("cudaMemcpyAsync");
}

cudaError_t cudaMemsetAsync(void* memory, int value, std::size_t bytes, cudaStream_t) {
  if (state().runs_kernels) {
    std::memset(memory, value, bytes);
  }
  return cuda_status("cudaMemsetAsync");
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return cuda_status("cudaDeviceGetStreamPriorityRange");
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned, int) {
  return lamina::tests::fake::make_clock(stream, "cudaStreamCreateWithPriority");
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  delete &clock_of(stream);
  return cudaSuccess;
}

cudaError_t cudaStreamQuery(cudaStream_t) {
  return state().hangs ? cudaErrorNotReady : cuda_status("cudaStreamQuery");
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  clock_of(stream) = std::max(clock_of(stream), date_of(event));
  return cuda_status("cudaStreamWaitEvent");
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return lamina::tests::fake::make_clock(event, "cudaEventCreate");
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete &date_of(event);
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  date_of(event) = clock_of(stream);
  return cuda_status("cudaEventRecord");
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  if (state().hangs) {
    return cudaErrorNotReady;
  }
  state().host_s = std::max(state().host_s, date_of(event));  // who asked has waited until then
  return cuda_status("cudaEventQuery");
}

cudaError_t cudaEventSynchronize(cudaEvent_t) {
  return cuda_status("cudaEventSynchronize");
}

cudaError_t cudaDeviceSynchronize() {
  return cuda_status("cudaDeviceSynchronize");
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t first, cudaEvent_t then) {
  *milliseconds = static_cast<float>((date_of(then) - date_of(first)) * 1e3);
  return cuda_status("cudaEventElapsedTime");
}
}
