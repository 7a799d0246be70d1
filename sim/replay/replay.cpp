#include "sim/replay/replay.hpp"

#include <memory>

#include <fmt/format.h>

#include "sim/error/error.hpp"
#include "sim/replay/child.hpp"
#include "sim/replay/core.hpp"
#include "sim/replay/no_contention_transport.hpp"
#include "sim/replay/plan.hpp"
#include "sim/replay/simgrid_transport.hpp"

namespace lamina::replay {
namespace {

Plan checked_plan(const graph::OperationGraph& graph, const deployment::Deployment& deployment,
                  const Options& options) {
  if (!(options.communication_slowdown >= 0 && options.communication_slowdown < 1)) {
    throw error::InternalError(
        fmt::format("replay: communication_slowdown is {}, not in [0, 1)", options.communication_slowdown));
  }
  if (const double x = options.receiving_slowdown.value_or(0); !(x >= 0 && x < 1)) {
    throw error::InternalError(fmt::format("replay: receiving_slowdown is {}, not in [0, 1)", x));
  }
  Plan plan = make_plan(graph, deployment);
  if (options.jitter) {
    plan.largest_flow *= kLargestJitterFactor;
  }
  return plan;
}

timeline::Timeline run(const graph::OperationGraph& graph, const deployment::Deployment& deployment, const Plan& plan,
                       const Options& options) {
  const std::unique_ptr<Transport> transport = options.transport == scenario::Transport::kSimgrid
                                                   ? make_simgrid_transport(deployment, plan)
                                                   : make_no_contention_transport(deployment);
  return Core(graph, deployment, plan, options, *transport).run();
}

}  // namespace

timeline::Timeline replay(const graph::OperationGraph& graph, const deployment::Deployment& deployment,
                          const Options& options) {
  const Plan plan = checked_plan(graph, deployment, options);
  if (options.transport == scenario::Transport::kNoContention) {
    return run(graph, deployment, plan, options);
  }
  return run_in_child([&] { return run(graph, deployment, plan, options); });
}

timeline::Timeline replay_in_process(const graph::OperationGraph& graph, const deployment::Deployment& deployment,
                                     const Options& options) {
  return run(graph, deployment, checked_plan(graph, deployment, options), options);
}

}  // namespace lamina::replay
