#include "validate/numeric/exchange.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>

namespace lamina::validate::numeric {

void keep_slice(std::vector<float>& values, std::size_t index, std::size_t count) {
  constexpr float kPoison = std::numeric_limits<float>::quiet_NaN();
  const auto first = static_cast<std::ptrdiff_t>(slice_begin(values.size(), index, count));
  const auto end = static_cast<std::ptrdiff_t>(slice_begin(values.size(), index + 1, count));
  std::fill(values.begin(), values.begin() + first, kPoison);
  std::fill(values.begin() + end, values.end(), kPoison);
}

}  // namespace lamina::validate::numeric
