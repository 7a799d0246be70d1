#pragma once

#include <string>
#include <vector>

#include "sim/draw/chart.hpp"
#include "sim/draw/layout.hpp"

namespace lamina::draw {

/// The charts below each other as one picture with a legend: static SVG 1.1 of rectangles, lines and text with
/// presentation attributes only (no style sheet, script, pattern, clip path, font or link), so that any renderer shows
/// it. Idle time stays empty. Each box carries its action and times as a <title>, which browsers show as a tip.
/// Micro-batch numbers shrink to 6 px where cells are narrow, and are left out below that. Text is escaped, and
/// stripped of what XML 1.0 does not allow. Equal charts give equal bytes.
[[nodiscard]] std::string to_svg(const std::vector<Chart>& charts, const Options& options = {});

}  // namespace lamina::draw
