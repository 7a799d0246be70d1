#pragma once

#include <string>
#include <vector>

#include "sim/draw/chart.hpp"
#include "sim/draw/layout.hpp"

namespace lamina::draw {

/// What the colours in these charts mean, in lines from `layout.legend_top` on.
struct Legend {
  std::string elements;
  double bottom = 0;
};

[[nodiscard]] Legend legend(const std::vector<Chart>& charts, const Layout& layout);

/// Hatching of a rectangle as path data: lines at 45 degrees that continue across rectangles. "" if it is too small.
[[nodiscard]] std::string hatching(double x, double y, double width, double height);

}  // namespace lamina::draw
