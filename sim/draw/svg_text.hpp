#pragma once

#include <string>
#include <string_view>

namespace lamina::draw {

/// Two decimals at most: "12.5", "3", "0".
[[nodiscard]] std::string decimal(double value);

/// One line of XML character data, also fit for attribute values: printable UTF-8, with markup escaped.
[[nodiscard]] std::string escaped(std::string_view text);

enum class Anchor { kStart, kMiddle, kEnd };

/// A line of text with its baseline at y.
struct TextStyle {
  double size = 11;
  std::string_view fill;
  Anchor anchor = Anchor::kStart;
  bool bold = false;
};

[[nodiscard]] std::string text_element(double x, double y, std::string_view text, const TextStyle& style);

/// Baseline of digits that are centred on `centre`.
[[nodiscard]] double baseline(double centre, double size);

/// A whole SVG 1.1 picture on white paper.
[[nodiscard]] std::string document(double width, double height, std::string_view title, std::string_view elements);

}  // namespace lamina::draw
