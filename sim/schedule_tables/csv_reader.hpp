#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "schedules/schedule.hpp"
#include "sim/error/error.hpp"

namespace lamina::schedule_tables {

inline constexpr int kLargestNumber = 1'000'000;  ///< of a stage or micro-batch in a file

/// One line of a file.
struct CsvRow {
  int line = 0;
  bool has_cells = false;  ///< false: nothing but spaces
  std::vector<schedules::LoweredAction> actions;
};

/// Bytes of an action in the text.
struct CsvPlace {
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// The grammar of PyTorch's pipeline CSV, cell by cell; knows nothing of schedules.
///
///     line   := [cell] { "," [cell] } (LF | CR LF | end of file)
///     cell   := action | "(" action ";" action ")" "OVERLAP_F_B" | a cell in double quotes
///     action := stage type [micro-batch]
///
/// Spaces and tabs around actions are ignored, as is a byte order mark of UTF-8. The halves of a pair are an F and a B
/// or I. Every error is a ScenarioError with line and column.
class CsvReader {
 public:
  /// @param text must outlive the reader
  CsvReader(std::string_view text, std::string file);

  /// Replaces `row` by the next line; false at the end of the text.
  /// @param places filled with the place of each action unless nullptr
  [[nodiscard]] bool next(CsvRow& row, std::vector<CsvPlace>* places = nullptr);

  /// A place in the line that was read last.
  [[nodiscard]] error::Location locate(std::size_t at) const;

  /// End of the line that was read last, without its line end.
  [[nodiscard]] std::size_t end_of_line() const { return end_of_line_; }

  /// Text fit for a message: short, and without control characters.
  [[nodiscard]] std::string quote(CsvPlace place) const;

 private:
  void read_cell(CsvRow& row, std::vector<CsvPlace>* places);
  void read_pair(CsvRow& row, std::vector<CsvPlace>* places);
  [[nodiscard]] schedules::LoweredAction read_action();
  [[nodiscard]] schedules::LoweredType read_type();
  [[nodiscard]] int read_number(const char* what);
  void expect_end_of_cell(bool quoted);
  void end_line();

  void skip_spaces();
  [[nodiscard]] char peek() const;  ///< NUL at the end of the text

  [[nodiscard]] bool at_end() const { return at_ == text_.size(); }

  [[nodiscard]] bool at_end_of_line() const { return at_end() || text_[at_] == '\n' || text_[at_] == '\r'; }

  [[nodiscard]] CsvPlace cell_place() const;
  [[noreturn]] void fail(std::size_t at, std::string problem, std::string allowed, std::string nearest = "") const;
  [[noreturn]] void fail_at_start_of_cell() const;
  [[noreturn]] void fail_at_type(std::string_view word) const;

  std::string_view text_;
  std::string file_;
  std::size_t at_ = 0;
  int line_ = 0;
  std::size_t start_of_line_ = 0;
  std::size_t end_of_line_ = 0;
  std::size_t start_of_cell_ = 0;
};

}  // namespace lamina::schedule_tables
