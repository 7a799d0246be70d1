#pragma once

#include "sim/deployment/deployment.hpp"
#include "sim/fabric/fabric.hpp"
#include "sim/graph/operation_graph.hpp"
#include "sim/model/work.hpp"
#include "sim/report/report.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/timeline/timeline.hpp"

namespace lamina::metrics {

/// Everything a report says of one replayed (or executed) step. The scenario must outlive the report.
[[nodiscard]] report::Report summarise(const scenario::Scenario& scenario, const model::WorkModel& work,
                                       const graph::OperationGraph& graph, const deployment::Deployment& deployment,
                                       const fabric::Fabric& fabric, const timeline::Timeline& timeline);

}  // namespace lamina::metrics
