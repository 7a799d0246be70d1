#include "validate/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace lamina::validate {

double quantile(std::vector<double> values, double share) {
  if (values.empty()) {
    return 0;
  }
  const auto at = static_cast<std::ptrdiff_t>(std::lround(share * static_cast<double>(values.size() - 1)));
  std::nth_element(values.begin(), values.begin() + at, values.end());
  return values[static_cast<std::size_t>(at)];
}

}  // namespace lamina::validate
