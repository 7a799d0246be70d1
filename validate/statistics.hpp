#pragma once

#include <vector>

#include "sim/units/median.hpp"

namespace lamina::validate {

using units::median;

/// The value nearest to where `share` of them lie below; 0 for none.
[[nodiscard]] double quantile(std::vector<double> values, double share);

}  // namespace lamina::validate
