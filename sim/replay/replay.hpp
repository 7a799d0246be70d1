#pragma once

#include "sim/deployment/deployment.hpp"
#include "sim/graph/operation_graph.hpp"
#include "sim/timeline/timeline.hpp"

namespace lamina::replay {

struct Options {
  double communication_slowdown = 0;  ///< compute runs at (1 - x) while a transfer touches its device; 0 <= x < 1
  bool record_flows = true;           ///< fill Timeline::flows
};

/// Replays the graph on SimGrid in a forked child process (SimGrid keeps one engine per process and aborts on errors) and
/// returns its timeline.
///
/// Network: max-min fair sharing of link bandwidth among all flows in flight (SimGrid model CM02, zero link latencies,
/// latencies paid by timers before the flow). Compute operations are engine timers.
/// @throws InternalError when operations could not run (names the first that never started) or the child died
[[nodiscard]] timeline::Timeline replay(const graph::OperationGraph& graph, const deployment::Deployment& deployment,
                                        const Options& options = {});

/// The same in the calling process; at most once per process.
[[nodiscard]] timeline::Timeline replay_in_process(const graph::OperationGraph& graph,
                                                   const deployment::Deployment& deployment, const Options& options = {});

}  // namespace lamina::replay
