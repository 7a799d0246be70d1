#pragma once

#include "schedules/schedule.hpp"
#include "sim/draw/chart.hpp"

namespace lamina::draw {

/// The table executed in unit times: every rank in order, an action as soon as its inputs exist, messages free. For a
/// rank's whole share of the model F, I and W last 1 and B lasts 2; one of v stages of a rank lasts 1/v of that. The
/// two halves of a fused pair last as long as both together. This is how the schedules' papers count bubbles.
/// `facts` are the size, the makespan and the bubble of the whole table: the share of the makespan in which its busiest
/// rank does nothing.
/// @throws InternalError when the table waits for itself; schedule_tables::find_fault says where
[[nodiscard]] Chart unit_cells(const schedules::ScheduleTable& table, const Window& window = {});

}  // namespace lamina::draw
