#pragma once

#include <tl/expected.hpp>

#include "sim/pipeline/simulate.hpp"

/// The same step again and again, with jitter that differs.
namespace lamina::pipeline {

/// Repeats replay every rank: no two of them draw the same.
/// @return Infeasible when all repeats together have more activities than `kLargestSize`; nothing without jitter
[[nodiscard]] tl::expected<void, error::Infeasible> check_repeats(const scenario::Scenario& scenario,
                                                                  const model::WorkModel& work,
                                                                  const schedules::ScheduleTable& table);

/// Step times over the scenario's repeats, with its other disturbances. Quantiles are interpolated between the two
/// nearest repeats (position q (n - 1) of n in order).
/// @throws InternalError when the scenario has no jitter
[[nodiscard]] report::StepDistribution step_distribution(const scenario::Scenario& scenario, const Prepared& prepared,
                                                         const Catalogs& catalogs);

}  // namespace lamina::pipeline
