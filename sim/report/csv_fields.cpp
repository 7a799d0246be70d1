#include "sim/report/csv_fields.hpp"

#include <cmath>

#include <fmt/format.h>

namespace lamina::report {

std::string csv_text(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) {
    return std::string(text);
  }
  std::string result = "\"";
  for (const char character : text) {
    result += character;
    if (character == '"') {
      result += '"';
    }
  }
  return result + '"';
}

std::string field(double value) {
  return std::isfinite(value) ? fmt::format("{}", value) : std::string();
}

void append_line(std::string& text, const Row& row, std::string Column::*part) {
  for (std::size_t i = 0; i < row.size(); ++i) {
    text += i == 0 ? "" : ",";
    text += row[i].*part;
  }
  text += '\n';
}

}  // namespace lamina::report
