#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/report/report.hpp"
#include "sim/scenario/scenario.hpp"

namespace lamina::metrics {

/// Dotted names of the JSON report that a scenario's `reference:` may use, in the order of the report.
[[nodiscard]] std::vector<std::string> reference_names();

/// The value that the JSON report has under `name`; NaN where it has null (training without `training:`). Empty when
/// there is no such name.
[[nodiscard]] std::optional<double> value_of(const report::Report& report, std::string_view name);

/// Checks the names of a scenario's reference without a report, so that a fault is found before the replay.
/// @throws ScenarioError that lists the allowed names, for an unknown one and for training without `training:`
void check_reference(const scenario::Scenario& scenario);

/// The scenario's reference beside the report's values. A row agrees when the relative difference is within the
/// tolerance, or within 0.01 (absolute) of the difference that the scenario states.
/// @throws ScenarioError as check_reference
[[nodiscard]] std::vector<report::ReferenceRow> reference_rows(const scenario::Scenario& scenario,
                                                               const report::Report& report);

}  // namespace lamina::metrics
