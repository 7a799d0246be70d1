#pragma once

#include <memory>
#include <string>
#include <vector>

#include "validate/cpu/products.hpp"
#include "validate/kernel_calls.hpp"

/// The kernels of a step on a processor core.
namespace lamina::validate::cpu {

/// What a rank will be asked to run.
struct EngineSetup {
  const std::vector<std::vector<KernelCall>>* lists = nullptr;  ///< must outlive the engine
  std::vector<char> used;                                       ///< [list] by this rank
  int units = 1;          ///< layers of the rank: each has weights and gradients of its own
  int micro_batches = 1;  ///< each has activations of its own
  bool half = true;       ///< bf16 products, else float32; gradients are accumulated in float32 in either case
  double most_bytes = 0;  ///< that it may take; 0: as much as it needs
};

/// Runs lists of kernels on the calling thread, on memory of its own that holds random numbers, never zeros.
class KernelEngine {
 public:
  virtual ~KernelEngine() = default;

  /// Library, version and instruction set, for the conditions of a calibration.
  [[nodiscard]] virtual std::string description() const = 0;

  [[nodiscard]] virtual double memory_bytes() const = 0;

  /// @param unit, micro_batch whose memory the kernels work on; taken modulo their numbers
  virtual void run(int list, int unit, int micro_batch) = 0;
};

/// Products by `products`, which is of the setup's data type; fused attention head by head; Adam; everything else as a
/// copy of the bytes that the kernel moves.
/// @throws std::bad_alloc; std::runtime_error when it would take more memory than it may
[[nodiscard]] std::unique_ptr<KernelEngine> make_kernel_engine(const EngineSetup& setup,
                                                               std::unique_ptr<Products> products);

}  // namespace lamina::validate::cpu
