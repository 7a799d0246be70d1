#pragma once

#include <string>
#include <string_view>
#include <vector>

/// Lines of console text: colour is added after the width of a cell is settled, so it never disturbs the columns.
namespace lamina::report {

inline constexpr std::size_t kColumns = 80;

enum class Tone { kPlain, kTitle, kFaint, kGood, kBad, kNotice };

class Page {
 public:
  explicit Page(bool colour, std::size_t columns = kColumns) : colour_(colour), columns_(columns) {}

  /// `text` in the given tone; the caller has made it printable.
  [[nodiscard]] std::string paint(std::string_view text, Tone tone) const;

  /// Appends one line, which must not contain a line break; trailing spaces are dropped.
  void line(std::string text = "");

  /// "Title" in bold and an annotation, cut to the page.
  void heading(std::string_view title, std::string_view annotation = "");

  /// Text wrapped to the page; following lines stand `hanging` columns in.
  void paragraph(std::string_view text, std::size_t indent, std::size_t hanging, Tone tone = Tone::kPlain);

  /// "  label   text", the text wrapped beside its label of `label_columns` columns (indent included).
  void labelled(std::string_view label, std::string_view text, std::size_t label_columns);

  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  bool colour_;
  std::size_t columns_;
  std::string text_;
};

/// One line of a table: cells padded to their widths and separated by one space; the first `left` cells stand left.
[[nodiscard]] std::string table_row(const std::vector<std::string>& cells, const std::vector<std::size_t>& widths,
                                    std::size_t left = 1);

}  // namespace lamina::report
