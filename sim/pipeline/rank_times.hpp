#pragma once

#include "schedules/schedule.hpp"
#include "sim/model/work.hpp"
#include "sim/scenario/scenario.hpp"

namespace lamina::pipeline {

/// What a schedule that is made to measure is told: durations and memory of the transformer layers on a rank in the
/// middle of the pipeline (embedding and head left out, unless they count as layers: then each stands for one), without
/// the tensor group's exchanges, and one message between nodes (within the node when there is only one).
[[nodiscard]] schedules::RankTimes rank_times(const scenario::Scenario& scenario, const model::WorkModel& work);

}  // namespace lamina::pipeline
