#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/model/work.hpp"
#include "sim/report/report.hpp"
#include "sim/scenario/scenario.hpp"

namespace lamina::metrics {

/// Tokens of one step: global batch times sequence length.
[[nodiscard]] double tokens_per_step(const scenario::Scenario& scenario);

/// Length of the whole training: steps as given, or tokens over tokens per step; days = steps x step time / 86400.
/// The critical batch follows the law that the scenario names (model::critical_batch). Empty without `training:`.
/// Appends a warning when the global batch is larger than the critical one.
[[nodiscard]] std::optional<report::Training> training(const scenario::Scenario& scenario, const model::WorkModel& work,
                                                       double step_s, double devices,
                                                       std::vector<std::string>& warnings);

}  // namespace lamina::metrics
