#pragma once

#include <memory>

#include "sim/deployment/deployment.hpp"
#include "sim/replay/plan.hpp"
#include "sim/replay/transport.hpp"

namespace lamina::replay {

/// The transport on SimGrid 3.32: max-min fair sharing (model CM02 without cross-traffic and latencies), one Comm per
/// flow, over virtual endpoints whose routes list the links of a path as often as it crosses them.
/// Flows that never share a link (plan.path_is_lone) are timers of the same length. SimGrid keeps one engine per
/// process, which is never destroyed; bytes are scaled by a power of two because it rounds them to whole numbers.
/// @throws InternalError if the process already has an engine
[[nodiscard]] std::unique_ptr<Transport> make_simgrid_transport(const deployment::Deployment& deployment,
                                                                const Plan& plan);

}  // namespace lamina::replay
