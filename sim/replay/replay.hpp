#pragma once

#include <optional>
#include <vector>

#include "sim/deployment/deployment.hpp"
#include "sim/graph/operation_graph.hpp"
#include "sim/replay/jitter.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/timeline/timeline.hpp"

namespace lamina::replay {

struct Options {
  /// Compute runs at (1 - x) while a message, collective or host copy touches its device, from the arrival of the last
  /// participant to the end, latency included; several at once count once. 0 <= x < 1.
  double communication_slowdown = 0;
  /// The same at the receiver of a message, where that is another number; of two at once the larger one counts.
  std::optional<double> receiving_slowdown = std::nullopt;
  bool record_flows = true;  ///< fill Timeline::flows
  scenario::Transport transport = scenario::Transport::kSimgrid;
  /// Durations of compute operations, and latency and bytes of transfers, are multiplied by the factor of the
  /// operation: of the sender for a message, of the group's first member for a collective. Wants a whole deployment.
  std::optional<Jitter> jitter = std::nullopt;
  /// [rank][operation] seconds of the compute operations of a whole deployment, in place of the graph's and of slow
  /// devices; entries of other operations are not read. Must outlive the replay.
  const std::vector<std::vector<double>>* compute_durations = nullptr;
};

/// Replays the graph and returns its timeline: on SimGrid in a forked child process (SimGrid keeps one engine per
/// process and aborts on errors), without contention in the calling process.
///
/// Network: max-min fair sharing of link bandwidth among all flows in flight (SimGrid model CM02, zero link latencies,
/// latencies paid by timers before the flow), or every flow as if it were alone. Compute operations are timers. Members
/// of a group pair their k-th collectives, as communicators do; a message or collective starts when its last
/// participant has arrived. In message form the members of a collective end together.
///
/// A rank's host delay comes before every n-th compute operation of its program, counted in program order (n, 2n, ...):
/// the operation is due, its device waits `host_delay_s`, then it starts; its span does not hold the delay. On SimGrid
/// the bandwidth of a link with a profile changes at the profile's dates while flows cross it.
/// @throws InternalError when graph and deployment do not fit together, when operations could not run (names the first
/// of each rank), or when the child died
/// @throws EnvironmentError when the child cannot be started or runs out of memory
[[nodiscard]] timeline::Timeline replay(const graph::OperationGraph& graph, const deployment::Deployment& deployment,
                                        const Options& options = {});

/// This process has replayed on SimGrid, or has tried to, and cannot do so again.
[[nodiscard]] bool has_used_simgrid();

/// The same in the calling process; on SimGrid at most once per process.
[[nodiscard]] timeline::Timeline replay_in_process(const graph::OperationGraph& graph,
                                                   const deployment::Deployment& deployment,
                                                   const Options& options = {});

}  // namespace lamina::replay
