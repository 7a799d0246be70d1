#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/deployment/deployment.hpp"
#include "sim/graph/operation_graph.hpp"
#include "sim/scenario/scenario.hpp"
#include "validate/backend.hpp"
#include "validate/kernel_calls.hpp"

/// Interface of the plug-in lamina_cuda.so: everything that includes CUDA's headers is behind it.
namespace lamina::validate::cuda {

/// The other processes of an execution on several GPUs.
class Peers {
 public:
  virtual ~Peers() = default;

  /// Waits until all processes have called it. @return [process] their contents
  [[nodiscard]] virtual std::vector<std::string> gather(const std::string& content) = 0;

  /// The same; returns at a common date. @return that date, seconds on this process's monotonic clock
  [[nodiscard]] virtual double start_together() = 0;
};

/// A GPU of this machine.
struct Device {
  std::string name;
  int major = 0;  ///< compute capability
  int minor = 0;
  int multiprocessors = 0;
  double memory_bytes = 0;
};

/// What one process drives. The pointers must outlive the backend.
struct DeviceSetup {
  const graph::OperationGraph* graph = nullptr;
  const deployment::Deployment* deployment = nullptr;  ///< whole
  const KernelCalls* calls = nullptr;
  Peers* peers = nullptr;           ///< null: this process drives all ranks, on one device
  std::vector<std::int32_t> ranks;  ///< of this process: all, or one
  int device = 0;
  scenario::Precision precision;
  std::int64_t hidden = 0;  ///< rows of norms
  std::int64_t sequence = 0;
  std::int64_t vocabulary = 0;
  std::int64_t head = 0;
  bool dropout = false;       ///< residual kernels drop elements
  int weight_sets = 0;        ///< layers whose weights are in memory at a time; 0: all of a rank
  int gradient_sets = 0;      ///< the same of gradients
  bool emulate_links = true;  ///< messages and collectives within one device take as long as on the deployment's links
  bool hold_compute = false;  ///< compute takes the graph's durations in place of running kernels
  double silence_s = 20;      ///< a step in which nothing ends for so long has failed
};

/// Time of every kernel list alone on the device.
struct ListTimes {
  std::vector<double> median_s;  ///< [list]; 0 where no rank of this process runs it
  std::vector<double> spread;    ///< interquartile range over median
};

class CudaBackend : public Backend {
 public:
  /// Device, library versions, what was emulated.
  [[nodiscard]] virtual std::string description() const = 0;

  /// Device memory of all ranks of this process.
  [[nodiscard]] virtual double memory_bytes() const = 0;

  /// To be called while no step runs.
  [[nodiscard]] virtual ListTimes time_lists() = 0;
};

/// Entry point `lamina_cuda_devices`: appends the GPUs of this machine.
/// @throws EnvironmentError without driver, or without a device
using FindDevices = void(std::vector<Device>& devices);

/// Entry point `lamina_make_cuda_backend`. The caller owns the result. Collective over the peers.
/// @throws EnvironmentError with file, line, call and reason of the CUDA, cuBLASLt or NCCL call that failed; when
/// memory does not suffice; when the device does not multiply the scenario's types
using MakeCudaBackend = CudaBackend*(const DeviceSetup& setup);

}  // namespace lamina::validate::cuda
