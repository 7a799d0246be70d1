#pragma once

#include <tl/expected.hpp>

#include "schedules/schedule.hpp"
#include "sim/error/error.hpp"
#include "sim/model/work.hpp"
#include "sim/pipeline/simulate.hpp"
#include "sim/scenario/scenario.hpp"

namespace lamina::pipeline {

/// What a schedule is asked for in this scenario, without the times that `schedule_table` adds.
[[nodiscard]] schedules::ScheduleRequest schedule_request(const scenario::Scenario& scenario);

/// The scenario's schedule, generated or read from its file.
/// @return Infeasible when the schedule cannot serve the scenario, with the numbers
/// @throws ScenarioError when the schedule's file is wrong, EnvironmentError when it cannot be read
[[nodiscard]] tl::expected<schedules::ScheduleTable, error::Infeasible> schedule_table(
    const scenario::Scenario& scenario, const Catalogs& catalogs);

/// The same for a model of work that is known already.
[[nodiscard]] tl::expected<schedules::ScheduleTable, error::Infeasible> schedule_table(
    const scenario::Scenario& scenario, const Catalogs& catalogs, const model::WorkModel& work);

}  // namespace lamina::pipeline
