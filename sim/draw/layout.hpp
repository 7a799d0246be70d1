#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/draw/chart.hpp"

namespace lamina::draw {

struct Options {
  int width = 0;  ///< of the picture, pixels; 0: as wide as the numbers in its cells need, within reason
};

/// Where a chart goes in the picture. Pixels.
struct Panel {
  double top = 0;                  ///< of its title
  double scale = 0;                ///< pixels per unit of time
  std::vector<std::string> facts;  ///< in lines
  double rows_top = 0;
  double main_height = 0;
  double thin_height = 0;
  double row_pitch = 0;  ///< from the top of one row to that of the next
  double axis_top = 0;
  double number_size = 0;  ///< font size of the numbers in most cells
  double border = 0;       ///< width of the line around a cell
};

struct Layout {
  double width = 0;
  double height = 0;
  double text = 1;  ///< factor on the size of all text outside the cells
  double left = 0;  ///< of the time axis
  double plot_width = 0;
  double legend_top = 0;
  std::vector<Panel> panels;
};

inline constexpr double kMargin = 16;
inline constexpr double kTitleSize = 15;
inline constexpr double kTextSize = 11;
inline constexpr double kLineHeight = 1.5;    ///< of the font size
inline constexpr double kSmallestNumber = 6;  ///< font size below which numbers are left out
inline constexpr double kLargestNumber = 13;
inline constexpr double kCharacterWidth =
    0.64;  ///< of the font size: a digit of DejaVu Sans, the widest of the fonts named

/// Charts below each other. Those with the same unit of time share the scale.
[[nodiscard]] Layout lay_out(const std::vector<Chart>& charts, const Options& options);

/// Font size at which a cell's number fits into it, at most kLargestNumber; below kSmallestNumber: it does not.
[[nodiscard]] double fitting_size(const Box& box, const Panel& panel);

/// Estimated width in pixels of printable text, rather too large than too small.
[[nodiscard]] double text_width(std::string_view text, double size);

/// The text as one printable line, shortened with an ellipsis where it is wider than `width`.
[[nodiscard]] std::string fitted(std::string_view text, double size, double width);

/// Height of a lane, and of a box in it (half of it for a part of a pair).
[[nodiscard]] double height_of(const Lane& lane, const Panel& panel);

}  // namespace lamina::draw
