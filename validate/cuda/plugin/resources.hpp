#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <type_traits>

#include "validate/cuda/plugin/checked.hpp"

/// CUDA's handles with owners. Destructors do not report: when they run after a fault, the fault is what counts.
namespace lamina::validate::cuda {

struct FreeDevice {
  void operator()(void* memory) const { (void)cudaFree(memory); }
};

struct FreeHost {
  void operator()(void* memory) const { (void)cudaFreeHost(memory); }
};

struct DestroyStream {
  void operator()(cudaStream_t stream) const { (void)cudaStreamDestroy(stream); }
};

struct DestroyEvent {
  void operator()(cudaEvent_t event) const { (void)cudaEventDestroy(event); }
};

using Stream = std::unique_ptr<std::remove_pointer_t<cudaStream_t>, DestroyStream>;
using Event = std::unique_ptr<std::remove_pointer_t<cudaEvent_t>, DestroyEvent>;

/// Memory of the current device.
class DeviceMemory {
 public:
  DeviceMemory() = default;

  /// @throws EnvironmentError with the number of bytes, what they are `needed_for`, and what is free
  DeviceMemory(std::size_t bytes, const std::string& needed_for);

  [[nodiscard]] std::byte* data() const { return static_cast<std::byte*>(memory_.get()); }

  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  std::unique_ptr<void, FreeDevice> memory_;
  std::size_t size_ = 0;
};

/// Host memory that devices reach themselves.
class PinnedMemory {
 public:
  PinnedMemory() = default;

  /// @throws EnvironmentError likewise
  PinnedMemory(std::size_t bytes, const std::string& needed_for);

  [[nodiscard]] void* data() const { return memory_.get(); }

 private:
  std::unique_ptr<void, FreeHost> memory_;
};

[[nodiscard]] Stream make_stream(int priority);
[[nodiscard]] Event make_event();

/// Seconds from one event to a later one of the same device; both have happened. Resolution: about half a microsecond.
[[nodiscard]] double seconds_between(const Event& first, const Event& then);

/// Waits for a stream.
/// @throws EnvironmentError when it takes longer than `limit_s`
void wait_for(cudaStream_t stream, double limit_s, const std::string& what);

}  // namespace lamina::validate::cuda
