#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace lamina::units {

/// Mean of the two middle values for an even number; 0 of nothing.
[[nodiscard]] inline double median(std::vector<double> values) {
  if (values.empty()) {
    return 0;
  }
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) {
    return *middle;
  }
  return (*std::max_element(values.begin(), middle) + *middle) / 2;
}

}  // namespace lamina::units
