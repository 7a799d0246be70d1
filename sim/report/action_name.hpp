#pragma once

#include <string>
#include <string_view>

#include "sim/graph/operation_graph.hpp"

namespace lamina::report {

/// Name of an operation in the style of PyTorch's pipeline actions (torch.distributed.pipelining.schedules): stage,
/// action, micro-batch: "0F3", "2B0", "1I4", "1W4", "1SEND_F3", "2RECV_B0", "3UNSHARD", "3REDUCE_GRAD"; "2R0" is our
/// recompute. Parts that an operation does not have are left out.
[[nodiscard]] std::string action_name(const graph::Operation& operation, const graph::Program& program);

/// Traffic class of an operation, by its kind where it names none; "compute" for compute.
[[nodiscard]] std::string_view category_of(const graph::Operation& operation);

}  // namespace lamina::report
