#include "sim/requirements/least.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "sim/error/error.hpp"

namespace lamina::requirements {
namespace {

constexpr double kFirstFactor = 2;  ///< most needs lie within a few times the lower bound
constexpr double kLargestFactor = 64;

void check(const Search& search) {
  const bool sound = search.lower > 0 && search.lower <= search.most && search.precision > 0 &&
                     (!search.upper || *search.upper >= search.lower);
  if (!sound) {
    throw error::InternalError(fmt::format("search between {} and {} (at most {}) with precision {}", search.lower,
                                           search.upper.value_or(search.most), search.most, search.precision));
  }
}

}  // namespace

Least least_that_meets(const std::function<double(double)>& time, const Search& search) {
  check(search);
  Least result;
  const auto enough = [&](double value) {
    ++result.evaluations;
    return time(value) <= search.target;
  };
  double lower = search.lower;
  const double end = search.upper.value_or(search.most);
  std::optional<double> upper;
  for (double factor = kFirstFactor; !upper; factor = std::min(factor * factor, kLargestFactor)) {
    const double next = std::min(lower * factor, end);
    if ((search.upper && next >= end) || enough(next)) {
      upper = next;
    } else if (next >= end) {
      return result;
    } else {
      lower = next;
    }
  }
  while (*upper > lower * (1 + search.precision)) {
    const double middle = std::sqrt(lower * *upper);
    (enough(middle) ? *upper : lower) = middle;
  }
  result.value = upper;
  return result;
}

}  // namespace lamina::requirements
