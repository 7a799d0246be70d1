#pragma once

#include <string>

#include "sim/deployment/deployment.hpp"
#include "sim/graph/operation_graph.hpp"
#include "sim/timeline/timeline.hpp"

namespace lamina::report {

/// Perfetto trace (protobuf TrackEvent, opens in ui.perfetto.dev): a process per role, a track per stream, flow arrows from
/// send to receive, counters for memory by category and for the load of each link class. Slices are named like PyTorch's
/// pipeline actions ("0F3") with layer, bytes and phase as arguments.
[[nodiscard]] std::string to_perfetto(const graph::OperationGraph& graph, const deployment::Deployment& deployment,
                                      const timeline::Timeline& timeline, const std::string& name);

/// The same step twice: under each shown rank of the prediction stands what that rank measured, as a process of its
/// own. Without links: nobody measured them.
[[nodiscard]] std::string to_perfetto(const graph::OperationGraph& graph, const deployment::Deployment& deployment,
                                      const timeline::Timeline& predicted, const timeline::Timeline& measured,
                                      const std::string& name);

}  // namespace lamina::report
