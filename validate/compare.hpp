#pragma once

#include <vector>

#include "sim/deployment/deployment.hpp"
#include "sim/graph/operation_graph.hpp"
#include "sim/replay/replay.hpp"
#include "sim/report/validation.hpp"
#include "validate/backend.hpp"

namespace lamina::validate {

/// A step twice.
struct Timelines {
  timeline::Timeline predicted;
  timeline::Timeline measured;
};

/// Three comparisons of the same step, never one: the model's prediction with the execution; a replay with the
/// execution's own kernel durations, which leaves only the structure to be wrong (order, dependencies, communication);
/// and durations by kind of operation, which show where kernels in place differ from kernels alone.
///
/// `executions`: at least one, of the whole `deployment`, whose spans have a common clock. `options` are those of the
/// prediction. Name, file and backend are left to the caller.
/// @param timelines where the prediction and the median repeat go, if anywhere
/// @throws InternalError when an execution does not fit graph and deployment
[[nodiscard]] report::Validation compare(const graph::OperationGraph& graph, const deployment::Deployment& deployment,
                                         const std::vector<Execution>& executions, const replay::Options& options,
                                         Timelines* timelines = nullptr);

/// Share of the time of transfers (anything but compute) that lies within compute of the same rank; 0 without any.
[[nodiscard]] double hidden_share(const graph::OperationGraph& graph, const deployment::Deployment& deployment,
                                  const timeline::Timeline& timeline);

}  // namespace lamina::validate
