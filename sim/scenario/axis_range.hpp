#pragma once

#include <vector>

#include "sim/scenario/axis_key.hpp"

namespace lamina::scenario {

inline constexpr int kMostSteps = 100'000;  ///< of one axis

/// The values of `{from, to, step}`, `{from, to, factor}` or `{from, to, points, scale: linear | log}`, both ends
/// included when a step meets `to`. They are written in the unit of `from`. For whole numbers, the values between the
/// ends of `points` are rounded, and equal ones dropped.
/// @throws ScenarioError: keys that do not belong together, ends in the wrong order, a range that never ends or is too
/// long, a logarithmic one that touches zero, steps that leave the whole numbers
[[nodiscard]] std::vector<Tree> expand_range(const Schema& schema, const AxisKey& key, const Tree& range);

/// `10Gbit/s..400Gbit/s*2` (factor), `1..9+2` (step), `1..5` (whole numbers), `1..100:5` and `1..100:5log` (points) as
/// the mapping that they stand for; nothing when the text is no range.
[[nodiscard]] std::optional<Tree> parse_range(const std::string& text, const Position& position);

}  // namespace lamina::scenario
