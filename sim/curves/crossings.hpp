#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/curves/table.hpp"

namespace lamina::curves {

/// Where the lower one of two curves becomes the upper one: between the two neighbouring points at which both have
/// values, on straight lines in log x and log y (in x and y where some are not positive). Curves that touch do not
/// cross. Ascending.
/// @param apart points less than this part of the smaller value apart are equal: curves within each other's noise do
/// not cross
[[nodiscard]] std::vector<double> crossings(const Curve& first, const Curve& second, double apart);

/// The smallest x from which a curve stays at or below (1 + `more`) times its last value, between points on a straight
/// line as above. Nothing when the first point is there already: the table does not reach down to the place.
[[nodiscard]] std::optional<double> settles_at(const Curve& curve, double more);

/// Both as text, a line per column; deviations are from the first column's places. At most 80 columns where names
/// allow.
/// @param apart, more for `crossings` and `settles_at`
[[nodiscard]] std::string findings(const Table& table, double apart, double more);

}  // namespace lamina::curves
