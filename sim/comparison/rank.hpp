#pragma once

#include <vector>

#include "sim/report/ranking.hpp"

/// Which of several replayed layouts to use, and why.
namespace lamina::comparison {

/// Steps that differ by no more than this are equal: far less than what a model of kernels is worth.
inline constexpr double kEqual = 0.001;

/// Ranks entries (name, file, schedule, report and need are given; the rest is filled).
///
/// By step time; if the entries do not process the same tokens per step on as many devices, by tokens per second and
/// device (sequences, where a model has no tokens), with a warning. Entries that fit into memory come first. Those
/// within `kEqual` of the first of their group share its rank and stand by peak memory, then by the bandwidth they
/// need, then by time, then as given.
[[nodiscard]] report::Ranking rank(std::vector<report::Entry> entries, std::vector<report::Refusal> refusals);

/// Seconds per unit of work and device, times the unit's amount in `like`: the step time that `entry` would have if it
/// did as much work per device as `like` does.
[[nodiscard]] double comparable_time(const report::Entry& entry, const report::Entry& like, report::RankedBy by);

}  // namespace lamina::comparison
