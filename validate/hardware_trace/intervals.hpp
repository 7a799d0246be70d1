#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace lamina::validate::hardware_trace {

/// [start, end) in nanoseconds.
using Interval = std::pair<std::int64_t, std::int64_t>;

/// Disjoint intervals, ascending, that cover the same time.
[[nodiscard]] std::vector<Interval> united(std::vector<Interval> intervals);

/// Total length of disjoint intervals.
[[nodiscard]] std::int64_t length(const std::vector<Interval>& disjoint);

/// Length of what two lists of disjoint ascending intervals have in common.
[[nodiscard]] std::int64_t common_length(const std::vector<Interval>& a, const std::vector<Interval>& b);

}  // namespace lamina::validate::hardware_trace
