#include "sim/report/console_style.hpp"

#include <algorithm>

#include "sim/report/text.hpp"

namespace lamina::report {

namespace {

std::string_view escape_of(Tone tone) {
  switch (tone) {
    case Tone::kTitle:
      return "\x1b[1m";
    case Tone::kFaint:
      return "\x1b[2m";
    case Tone::kGood:
      return "\x1b[32m";
    case Tone::kBad:
      return "\x1b[31m";
    case Tone::kNotice:
      return "\x1b[33m";
    case Tone::kPlain:
      break;
  }
  return "";
}

}  // namespace

std::string Page::paint(std::string_view text, Tone tone) const {
  const std::string_view escape = escape_of(tone);
  if (!colour_ || escape.empty() || text.empty()) {
    return std::string(text);
  }
  std::string result(escape);
  result += text;
  result += "\x1b[0m";
  return result;
}

void Page::line(std::string text) {
  text.erase(text.find_last_not_of(' ') + 1);
  text_ += text;
  text_ += '\n';
}

void Page::heading(std::string_view title, std::string_view annotation) {
  const std::string head = truncate(printable(title), columns_);
  const std::size_t used = display_width(head) + 2;
  std::string result = paint(head, Tone::kTitle);
  if (!annotation.empty() && used + 2 < columns_) {
    result += "  " + paint(truncate(printable(annotation), columns_ - used), Tone::kFaint);
  }
  line(std::move(result));
}

void Page::paragraph(std::string_view text, std::size_t indent, std::size_t hanging, Tone tone) {
  const std::string clean = printable(text);
  const std::size_t columns = columns_ - std::max(indent, hanging);
  bool first = true;
  for (const std::string& part : wrap(clean, columns)) {
    line(std::string(first ? indent : hanging, ' ') + paint(part, tone));
    first = false;
  }
}

void Page::labelled(std::string_view label, std::string_view text, std::size_t label_columns) {
  std::string head = "  " + paint(pad_right(printable(label), label_columns - 2), Tone::kFaint);
  for (const std::string& part : wrap(printable(text), columns_ - label_columns)) {
    line(head + part);
    head.assign(label_columns, ' ');
  }
}

std::string table_row(const std::vector<std::string>& cells, const std::vector<std::size_t>& widths, std::size_t left) {
  std::string result;
  for (std::size_t i = 0; i < cells.size() && i < widths.size(); ++i) {
    result += i == 0 ? "" : " ";
    result += i < left ? pad_right(cells[i], widths[i]) : pad_left(cells[i], widths[i]);
  }
  return result;
}

}  // namespace lamina::report
