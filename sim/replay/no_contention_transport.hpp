#pragma once

#include <memory>

#include "sim/deployment/deployment.hpp"
#include "sim/replay/transport.hpp"

namespace lamina::replay {

/// The transport without sharing: a flow takes bytes x Path::alone_s_per_byte, whatever else is in flight, so that
/// folded and whole deployments give the same times. A heap of events; those of one moment end in the order in which
/// they were started. Needs no process of its own. `deployment` must outlive it.
[[nodiscard]] std::unique_ptr<Transport> make_no_contention_transport(const deployment::Deployment& deployment);

}  // namespace lamina::replay
