#pragma once

#include <array>
#include <vector>

#include <tl/expected.hpp>

#include "schedules/schedule.hpp"
#include "sim/error/error.hpp"
#include "sim/graph/operation_graph.hpp"
#include "sim/model/work.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/units/transfer_time.hpp"

namespace lamina::lowering {

/// Of the tensor group's collectives, by graph::CollectiveKind.
using TensorTimes = std::array<TransferTime, graph::kCollectiveKinds>;

/// The programs of `lower` with as few operations as leave every date of a replay without contention the same: tasks of
/// an action that follow each other on the compute stream without a restore, reduction or host copy that begins or ends
/// between them are one compute operation, with the tensor group's exchanges inside. Messages, restores, reductions,
/// copies and updates are those of `lower`. The programs are not frozen, and carry no layer or block.
///
/// Memory: such an operation holds the most that its tasks ever hold from its start to its end, and an action's
/// received message until the operation's end; in category kWorkingSet. A peak is never lower than that of `lower`, and
/// higher by at most what other streams hold at once plus one message.
/// @param tensor_times by pipeline rank; any when there is one tensor rank
[[nodiscard]] tl::expected<std::vector<graph::Program>, error::Infeasible> lower_coarse(
    const scenario::Scenario& scenario, const model::WorkModel& work, const schedules::ScheduleTable& table,
    const std::vector<TensorTimes>& tensor_times);

}  // namespace lamina::lowering
