#pragma once

#include <tl/expected.hpp>

#include "schedules/schedule.hpp"
#include "sim/error/error.hpp"
#include "sim/graph/operation_graph.hpp"
#include "sim/model/work.hpp"
#include "sim/scenario/scenario.hpp"

namespace lamina::lowering {

/// Turns a schedule's table into the operation graph of every pipeline role: compute per layer and block, pipeline
/// messages, tensor collectives, restores and reductions by the sharding level, offload copies, optimizer, memory
/// effects. The rules are in docs/model.md; they are the same for every schedule.
[[nodiscard]] tl::expected<graph::OperationGraph, error::Infeasible> lower(const scenario::Scenario& scenario,
                                                                           const model::WorkModel& work,
                                                                           const schedules::ScheduleTable& table);

}  // namespace lamina::lowering
