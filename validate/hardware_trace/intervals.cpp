#include "validate/hardware_trace/intervals.hpp"

#include <algorithm>

namespace lamina::validate::hardware_trace {

std::vector<Interval> united(std::vector<Interval> intervals) {
  std::sort(intervals.begin(), intervals.end());
  std::vector<Interval> result;
  for (const Interval& interval : intervals) {
    if (interval.second <= interval.first) {
      continue;
    }
    if (!result.empty() && interval.first <= result.back().second) {
      result.back().second = std::max(result.back().second, interval.second);
    } else {
      result.push_back(interval);
    }
  }
  return result;
}

std::int64_t length(const std::vector<Interval>& disjoint) {
  std::int64_t sum = 0;
  for (const Interval& interval : disjoint) {
    sum += interval.second - interval.first;
  }
  return sum;
}

std::int64_t common_length(const std::vector<Interval>& a, const std::vector<Interval>& b) {
  std::int64_t sum = 0;
  for (auto i = a.begin(), j = b.begin(); i != a.end() && j != b.end();) {
    sum += std::max<std::int64_t>(0, std::min(i->second, j->second) - std::max(i->first, j->first));
    if (i->second < j->second) {
      ++i;
    } else {
      ++j;
    }
  }
  return sum;
}

}  // namespace lamina::validate::hardware_trace
