#pragma once

#include <string>

#include "sim/draw/chart.hpp"

namespace lamina::draw {

struct Paint {
  std::string fill;  ///< "#6baed6"
  std::string text;  ///< of a number on it
};

/// Colour of a kind and shade: light for the first of `shades`, dark for the last. The sequential scales of ColorBrewer
/// (C. Brewer, colorbrewer2.org), whose hues people with colour vision deficiencies tell apart.
[[nodiscard]] Paint paint(Kind kind, int shade, int shades);

/// Text of the legend.
[[nodiscard]] const char* name_of(Kind kind);

/// Whether the kind has a shade per stage of its rank.
[[nodiscard]] bool is_shaded(Kind kind);

inline constexpr const char* kIdle = "#f0f0f0";
inline constexpr const char* kInk = "#222222";
inline constexpr const char* kFaint = "#5f5f5f";
inline constexpr const char* kPaper = "#ffffff";
inline constexpr const char* kHatch = "#6f9bc8";

}  // namespace lamina::draw
