#pragma once

#include <array>
#include <vector>

#include "sim/report/ranking.hpp"

namespace lamina::comparison {

/// What a rank's step time divides into without rest.
enum class Part { kCompute, kBubble, kPipeline, kReduce, kRestore, kTensor, kOffload, kTail };

inline constexpr std::size_t kParts = 8;

/// Seconds of each part; they add up to the step time.
[[nodiscard]] std::array<double, kParts> parts_of(const report::RoleTimes& times);

/// A part of the step in two layouts.
struct Difference {
  Part part = Part::kCompute;
  double better_s = 0;
  double other_s = 0;

  /// What the better one saves here; negative where it loses.
  [[nodiscard]] double gain_s() const { return other_s - better_s; }
};

/// All parts of the busiest roles, the largest gain first. `other_scale`: factor on the times of `other`, which makes
/// its work that of `better`.
[[nodiscard]] std::vector<Difference> differences(const report::Entry& better, const report::Entry& other,
                                                  double other_scale);

}  // namespace lamina::comparison
