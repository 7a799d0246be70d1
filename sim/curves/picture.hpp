#pragma once

#include <string>

#include "sim/curves/table.hpp"

namespace lamina::curves {

/// More have colours that nobody tells apart.
inline constexpr std::size_t kMostGroups = 8;
inline constexpr std::size_t kMostColumns = 3;

struct PictureOptions {
  std::string title;
  int width = 0;  ///< pixels; 0: 760
};

/// The table as static SVG 1.1: a colour for each group (Okabe and Ito's, which people with colour vision deficiencies
/// tell apart), a line and a mark for each column: solid with discs, dashed with circles, dotted with squares. An axis
/// on which the largest value is at least five times the smallest one, and that is positive, is logarithmic; others of
/// values begin at 0. Equal tables give equal bytes.
/// @pre at most kMostGroups groups and kMostColumns columns
[[nodiscard]] std::string to_svg(const Table& table, const PictureOptions& options);

}  // namespace lamina::curves
