#pragma once

#include <functional>
#include <optional>

namespace lamina::requirements {

/// Where to look for the least value of a resource (a bandwidth, a scale, the inverse of a latency) that is enough.
struct Search {
  double target = 0;            ///< a time that is not exceeded counts as enough
  double lower = 0;             ///< positive; known to be too little, or at most just enough (a bound, never evaluated)
  std::optional<double> upper;  ///< known to be enough
  double most = 0;              ///< beyond this the search gives up
  double precision = 0.03;      ///< the answer is at most this share above the least value
};

struct Least {
  std::optional<double> value;  ///< enough, and within the precision of the least; none: not even `most` is enough
  int evaluations = 0;
};

/// The least x with time(x) <= target, for a time that does not grow with x: a bracket that widens by growing factors
/// from `lower` on, then bisection of its logarithm. About log2(log(factor) / log(1 + precision)) evaluations after the
/// bracket. Where the time is not monotone (contention can make more bandwidth slower), the answer is one of the points
/// at which it falls below the target.
/// @throws InternalError unless 0 < lower <= most, upper >= lower and precision > 0
[[nodiscard]] Least least_that_meets(const std::function<double(double)>& time, const Search& search);

}  // namespace lamina::requirements
