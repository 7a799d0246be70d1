#pragma once

#include "sim/pipeline/simulate.hpp"

/// What a layout asks of the cluster, found by replaying it on better and worse ones.
namespace lamina::requirements {

/// Share by which the step may be longer than on an ideal network.
inline constexpr double kTolerance = 0.05;

enum class NetworkVerdict {
  kNothingSent,  ///< no byte goes through a network port: any network will do, or none
  kFound,
  kLatencyBound,  ///< no bandwidth is enough: latency alone costs more than the tolerance
};

struct NetworkRequirement {
  NetworkVerdict verdict = NetworkVerdict::kNothingSent;
  double bandwidth_bytes_per_s = 0;  ///< of one port, as in cluster.network.bandwidth; kFound
  double ideal_step_s = 0;           ///< on a network without limit and latency; the step itself if nothing is sent
  int replays = 0;                   ///< that the answer took
};

/// The least bandwidth of a network port at which the step is at most `tolerance` longer than on an ideal network.
/// Ports and trunks are scaled together, so that oversubscription stays; latencies, device links and host paths stay as
/// they are. On the ideal network ports and trunks have no limit and no latency. The schedule's table is not made anew
/// for each bandwidth: the layout is held fixed.
///
/// `result` is the scenario's own replay, which counts as one point of the search. Found to 3 %; about a dozen replays.
/// @throws as replay::replay
[[nodiscard]] NetworkRequirement network_requirement(const scenario::Scenario& scenario, const pipeline::Result& result,
                                                     const pipeline::Catalogs& catalogs, double tolerance = kTolerance);

}  // namespace lamina::requirements
