#pragma once

#include <cstdint>
#include <vector>

#include "sim/graph/operation_graph.hpp"
#include "sim/model/work.hpp"
#include "sim/scenario/scenario.hpp"

namespace lamina::validate {

/// One kernel of a compute operation. The pass tells which operand of a product is transposed.
struct KernelCall {
  model::Kernel kernel;
  model::Pass pass = model::Pass::kForward;
  bool updates = false;  ///< the optimizer
};

/// What every compute operation launches. Operations that launch the same kernels share a list: those of all
/// micro-batches, and of all layers of one kind.
struct KernelCalls {
  static constexpr std::int32_t kNone = -1;
  std::vector<std::vector<KernelCall>> lists;
  std::vector<std::vector<std::int32_t>> list_of;  ///< [program][operation]; kNone for what is not compute
};

/// The kernels that the cost model priced, operation by operation: the sum of their times is the operation's duration.
/// Lists are empty for a custom model, which knows durations only.
/// @throws InternalError when the operations of a micro-batch do not cover the blocks of a layer in order
[[nodiscard]] KernelCalls kernel_calls(const graph::OperationGraph& graph, const model::WorkModel& work,
                                       const scenario::Strategy& strategy);

}  // namespace lamina::validate
