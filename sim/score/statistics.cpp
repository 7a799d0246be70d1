#include "sim/score/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/units/median.hpp"

namespace lamina::score {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

}  // namespace

double relative_error(double predicted, double measured) {
  return predicted / measured - 1;
}

Errors errors_of(const std::vector<double>& signed_errors) {
  if (signed_errors.empty()) {
    return {0, kNone, kNone, kNone, kNone, kNone};
  }
  Errors errors;
  errors.rows = static_cast<std::int64_t>(signed_errors.size());
  std::vector<double> sizes;
  for (const double error : signed_errors) {
    sizes.push_back(std::abs(error));
    errors.mean_absolute += std::abs(error);
    errors.bias += error;
  }
  errors.mean_absolute /= static_cast<double>(errors.rows);
  errors.bias /= static_cast<double>(errors.rows);
  errors.largest_absolute = *std::max_element(sizes.begin(), sizes.end());
  errors.median_absolute = units::median(std::move(sizes));
  errors.median_signed = units::median(signed_errors);
  return errors;
}

double Pairs::share() const {
  return pairs > 0 ? static_cast<double>(in_order) / static_cast<double>(pairs) : kNone;
}

Pairs pairs_of(const std::vector<Comparison>& rows, bool within_groups) {
  Pairs result;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t j = i + 1; j < rows.size(); ++j) {
      const bool counts = rows[i].measured != rows[j].measured && (!within_groups || rows[i].group == rows[j].group);
      if (!counts) {
        continue;
      }
      ++result.pairs;
      const bool first_less = rows[i].measured < rows[j].measured;
      const bool in_order = first_less ? rows[i].predicted < rows[j].predicted : rows[i].predicted > rows[j].predicted;
      result.in_order += in_order ? 1 : 0;
    }
  }
  return result;
}

}  // namespace lamina::score
