#pragma once

#include "sim/deployment/deployment.hpp"
#include "sim/draw/chart.hpp"
#include "sim/graph/operation_graph.hpp"
#include "sim/timeline/timeline.hpp"

namespace lamina::draw {

/// A replayed step to scale, seconds from its start. A row shows the rank that computes longest among those of its
/// pipeline rank (`facts` say so where they differ). Its first lane is the compute stream: the layers and blocks of an
/// action are one box, with their tensor-parallel collectives, behind a box with the time of all its recomputation; a
/// box is broken where compute stands still; transfers that the compute stream itself waits out (blocking messages,
/// restores without overlap) stand in it. Thin lanes show messages where they are sent, restores and reductions,
/// copies to and from the host. Gaps and transfers below 1/10,000 of the time shown are joined with their neighbours.
[[nodiscard]] Chart replay_chart(const graph::OperationGraph& graph, const deployment::Deployment& deployment,
                                 const timeline::Timeline& timeline, const Window& window = {});

}  // namespace lamina::draw
