#pragma once

#include <vector>

#include "sim/fabric/fabric.hpp"
#include "sim/metrics/step.hpp"
#include "sim/report/report.hpp"

namespace lamina::metrics {

/// Load of each link class that the fabric has, in the order of fabric::LinkClass; classes without traffic have zero
/// bytes.
///
/// Bytes are those that the timeline's flows moved over one link, on the scale of the whole cluster (a folded link's
/// bytes times its divisor). The busiest link is the one with most bytes (lowest index when equal). Its peak rate adds
/// the flows in flight, each at its average rate, and is never more than the link's bandwidth, unless the transport
/// lets flows ignore each other: then it is what they would need. Time linear in flows and link uses, but for sorting
/// the flows that cross a busiest link.
/// @throws InternalError when a flow or a path points outside the deployment
[[nodiscard]] std::vector<report::LinkLoad> link_loads(const Step& step, const fabric::Fabric& fabric,
                                                       scenario::Transport transport = scenario::Transport::kSimgrid);

}  // namespace lamina::metrics
