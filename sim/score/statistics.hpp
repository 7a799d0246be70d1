#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lamina::score {

/// A predicted figure beside the measured one.
struct Comparison {
  double measured = 0;   ///< above 0
  double predicted = 0;  ///< above 0
  std::string group;     ///< pairs of equal groups are also counted apart
};

/// predicted / measured - 1: positive means that Lamina says more than was measured.
[[nodiscard]] double relative_error(double predicted, double measured);

struct Errors {
  std::int64_t rows = 0;
  double mean_absolute = 0;
  double median_absolute = 0;
  double largest_absolute = 0;
  double bias = 0;  ///< mean of the signed errors
  double median_signed = 0;
};

/// NaN without rows. The median of an even number is the mean of the middle two.
[[nodiscard]] Errors errors_of(const std::vector<double>& signed_errors);

/// Pairs of rows whose measured figures differ; a pair is in order when the predicted ones differ in the same
/// direction.
struct Pairs {
  std::int64_t pairs = 0;
  std::int64_t in_order = 0;

  [[nodiscard]] double share() const;  ///< NaN without pairs
};

[[nodiscard]] Pairs pairs_of(const std::vector<Comparison>& rows, bool within_groups);

}  // namespace lamina::score
