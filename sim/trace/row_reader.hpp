#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace lamina::trace {

/// Rows of a CSV text (RFC 4180) with a header line; a view, nothing is copied except quoted fields.
class RowReader {
 public:
  /// Reads the header. Comment lines (#) before it and a byte order mark are passed over.
  /// @throws ScenarioError for a text without header
  RowReader(std::string_view text, std::string file);

  [[nodiscard]] const std::vector<std::string>& header() const { return header_; }

  /// Index of a column; -1: there is none.
  [[nodiscard]] int column(std::string_view name) const;

  /// Advances to the next row that is not empty; false at the end. A quoted field may go on over lines; an open quote
  /// that makes no row this way ends with its line.
  /// @throws ScenarioError for a row with more or fewer fields than the header, or an open quote
  [[nodiscard]] bool next();

  /// Of the current row's first line, from 1.
  [[nodiscard]] int line_number() const { return line_number_; }

  [[nodiscard]] std::string_view field(int column) const { return fields_[static_cast<std::size_t>(column)].text; }

  /// @throws ScenarioError for what is not a finite number
  [[nodiscard]] double number(int column) const;

  /// A whole number of [least, most], also when written as "3.0".
  /// @throws ScenarioError for anything else
  [[nodiscard]] std::int64_t integer(int column, std::int64_t least, std::int64_t most) const;

  /// Throws the ScenarioError for a field of the current row.
  [[noreturn]] void refuse(int column, std::string problem, std::string allowed) const;

 private:
  struct Field {
    std::string_view text;
    std::size_t start = 0;  ///< in the line
  };

  [[nodiscard]] bool next_line();
  [[nodiscard]] bool join_line();
  void split_row();
  void split();
  [[nodiscard]] std::size_t split_quoted(std::size_t start);
  [[noreturn]] void refuse_line(std::size_t at, std::string problem, std::string read, std::string allowed) const;

  std::string_view text_;
  std::string file_;
  std::string_view line_;
  int line_number_ = 0;
  int lines_read_ = 0;
  bool joins_lines_ = false;  ///< while a row is split: an open quote takes the next line
  std::vector<std::string> header_;
  std::vector<Field> fields_;
  std::deque<std::string> unquoted_;  ///< storage of quoted fields of the current row
};

}  // namespace lamina::trace
