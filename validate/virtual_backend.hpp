#pragma once

#include <memory>

#include "sim/deployment/deployment.hpp"
#include "sim/graph/operation_graph.hpp"
#include "validate/backend.hpp"

namespace lamina::validate {

/// Devices that are clocks: an operation takes the time that the model gives it, a transfer what it takes alone on its
/// links. All ranks are driven by one thread, so that dates are exact: those of a replay without contention, and those
/// of SimGrid wherever transfers do not meet. It proves the executor, not the model.
///
/// Both must outlive it; the deployment is whole.
/// @throws InternalError for collectives in message form
[[nodiscard]] std::unique_ptr<Backend> make_virtual_backend(const graph::OperationGraph& graph,
                                                            const deployment::Deployment& deployment);

}  // namespace lamina::validate
