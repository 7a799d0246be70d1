#pragma once

#include <vector>

#include "sim/report/console_style.hpp"
#include "sim/report/report.hpp"

namespace lamina::report {

/// What the reports say together, when they train one model with several schedules: the shortest training against the
/// best of the other schedules, what is left of it on the slowest network, and how much memory it takes. Only layouts
/// that fit count. Prints nothing when the reports cannot be compared (different models or tokens, no training, one
/// schedule).
void add_findings(Page& page, const std::vector<Report>& reports);

}  // namespace lamina::report
