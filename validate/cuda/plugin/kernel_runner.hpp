#pragma once

#include <cstdint>
#include <vector>

#include "validate/cuda/cuda_backend.hpp"
#include "validate/cuda/plugin/kernels.hpp"
#include "validate/cuda/plugin/products.hpp"

namespace lamina::validate::cuda {

/// [operation] which layer of its rank a compute operation works on, -1 for others; and how many there are.
struct Units {
  std::vector<std::int32_t> of_operation;
  std::size_t count = 0;
};

[[nodiscard]] Units units_of(const graph::Program& program);

/// Launches the kernels of one rank's lists, on memory of its own that holds random numbers. Inputs and outputs are
/// different arrays, so that numbers neither grow nor vanish however many steps are run.
class KernelRunner {
 public:
  /// Allocates and fills on `stream`.
  /// @throws EnvironmentError when memory does not suffice, or the device does not multiply the types
  KernelRunner(const DeviceSetup& setup, std::int32_t rank, Products& products, cudaStream_t stream);

  /// Puts a list's kernels into a stream. Lists of one rank run in one stream at a time.
  void run(std::int32_t list, std::int32_t unit, cudaStream_t stream);

  [[nodiscard]] double memory_bytes() const;

  /// [list] whether the rank runs it.
  [[nodiscard]] const std::vector<char>& used() const { return used_; }

 private:
  /// Memory that is handed out from one end to the other, again and again.
  struct Ring {
    DeviceMemory memory;
    std::size_t next = 0;

    [[nodiscard]] std::byte* take(std::size_t bytes);
  };

  /// Part of a layer's weights or gradients that the kernels of a list have not used yet.
  struct Cursor {
    std::int32_t unit = 0;
    std::size_t weights = 0;
    std::size_t gradients = 0;
  };

  void find_sizes(std::int32_t rank);
  void allocate(cudaStream_t stream);
  static void check_head(const KernelCall& call);
  void fill(const DeviceMemory& memory, cudaStream_t stream);
  void launch(const KernelCall& call, Cursor& cursor, cudaStream_t stream);
  void multiply(const KernelCall& call, Cursor& cursor, cudaStream_t stream);
  void attend(const KernelCall& call, cudaStream_t stream);
  void update(const KernelCall& call, const Cursor& cursor, cudaStream_t stream);
  void move_memory(const KernelCall& call, Cursor& cursor, cudaStream_t stream);
  void norms(const KernelCall& call, cudaStream_t stream);
  void softmax(const KernelCall& call, cudaStream_t stream);
  void loss(const KernelCall& call, cudaStream_t stream);
  void lookup(const KernelCall& call, Cursor& cursor, cudaStream_t stream);
  void drop(const KernelCall& call, cudaStream_t stream);
  void elementwise(const KernelCall& call, cudaStream_t stream);
  [[nodiscard]] std::size_t parameters_of(const KernelCall& call) const;
  [[nodiscard]] Product product_of(const KernelCall& call) const;
  [[nodiscard]] std::byte* weights(Cursor& cursor, std::size_t bytes);
  [[nodiscard]] std::byte* gradients(Cursor& cursor, std::size_t bytes);

  const DeviceSetup& setup_;
  Products& products_;
  std::vector<char> used_;
  kernels::Element element_;            ///< of activations
  scenario::DataType activation_type_;  ///< likewise
  scenario::DataType gradient_type_;
  kernels::Element gradient_element_;
  std::vector<std::size_t> weight_bytes_;  ///< [set]
  std::vector<std::size_t> gradient_bytes_;
  std::size_t state_parameters_ = 0;
  std::size_t input_bytes_ = 0;
  std::size_t output_bytes_ = 0;
  std::vector<DeviceMemory> weights_;  ///< [set]
  std::vector<DeviceMemory> gradients_;
  DeviceMemory state_;
  DeviceMemory sums_;
  DeviceMemory workspace_;
  Ring inputs_;
  Ring outputs_;
  int step_ = 0;
};

}  // namespace lamina::validate::cuda
