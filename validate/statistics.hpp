#pragma once

#include <vector>

namespace lamina::validate {

/// 0 for none; the mean of the middle two of an even number.
[[nodiscard]] double median(std::vector<double> values);

/// The value nearest to where `share` of them lie below; 0 for none.
[[nodiscard]] double quantile(std::vector<double> values, double share);

}  // namespace lamina::validate
