#include "sim/draw/svg_text.hpp"

#include <fmt/format.h>

#include "sim/draw/palette.hpp"
#include "sim/report/text.hpp"

namespace lamina::draw {

std::string decimal(double value) {
  std::string text = fmt::format("{:.2f}", value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') {
    text.pop_back();
  }
  return text == "-0" ? "0" : text;
}

std::string escaped(std::string_view text) {
  std::string line = report::printable(text);
  for (const std::string_view forbidden : {"\xEF\xBF\xBE", "\xEF\xBF\xBF"}) {  // U+FFFE and U+FFFF
    for (auto at = line.find(forbidden); at != std::string::npos; at = line.find(forbidden, at)) {
      line.replace(at, forbidden.size(), "?");
    }
  }
  std::string result;
  for (const char character : line) {
    switch (character) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += character;
    }
  }
  return result;
}

std::string text_element(double x, double y, std::string_view text, const TextStyle& style) {
  const char* anchor = "";
  if (style.anchor != Anchor::kStart) {
    anchor = style.anchor == Anchor::kMiddle ? " text-anchor=\"middle\"" : " text-anchor=\"end\"";
  }
  return fmt::format("<text x=\"{}\" y=\"{}\" font-size=\"{}\" fill=\"{}\"{}{}>{}</text>\n", decimal(x), decimal(y),
                     decimal(style.size), style.fill, anchor, style.bold ? " font-weight=\"bold\"" : "", escaped(text));
}

double baseline(double centre, double size) {
  constexpr double kHalfDigitHeight = 0.36;  // of Helvetica and DejaVu Sans
  return centre + kHalfDigitHeight * size;
}

std::string document(double width, double height, std::string_view title, std::string_view elements) {
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" width=\"{0}\" height=\"{1}\" "
      "viewBox=\"0 0 {0} {1}\" font-family=\"Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif\">\n"
      "<title>{2}</title>\n"
      "<rect x=\"0\" y=\"0\" width=\"{0}\" height=\"{1}\" fill=\"{3}\"/>\n{4}</svg>\n",
      decimal(width), decimal(height), escaped(title), kPaper, elements);
}

}  // namespace lamina::draw
