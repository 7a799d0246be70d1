#pragma once

#include <string>
#include <string_view>
#include <vector>

/// Lines of our CSV tables: names and values are built together, so that no column can slip.
namespace lamina::report {

struct Column {
  std::string name;
  std::string value;
};

using Row = std::vector<Column>;

/// RFC 4180, section 2: fields with commas, quotes or line breaks stand in quotes, quotes are doubled.
[[nodiscard]] std::string csv_text(std::string_view text);

/// Shortest text that reads back as the same double; not a number and infinite are empty fields.
[[nodiscard]] std::string field(double value);

/// Appends one line of the names or of the values.
void append_line(std::string& text, const Row& row, std::string Column::*part);

}  // namespace lamina::report
