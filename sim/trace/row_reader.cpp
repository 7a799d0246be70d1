#include "sim/trace/row_reader.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "sim/report/text.hpp"
#include "sim/scenario/fault.hpp"

namespace lamina::trace {
namespace {

constexpr std::size_t kShownColumns = 60;

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) {
    return {};
  }
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// What was read, short and safe to print.
std::string shown(std::string_view text) {
  return fmt::format("\"{}\"", report::truncate(report::printable(text), kShownColumns));
}

}  // namespace

RowReader::RowReader(std::string_view text, std::string file) : text_(text), file_(std::move(file)) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text_.starts_with(kByteOrderMark)) {
    text_.remove_prefix(kByteOrderMark.size());
  }
  while (next_line()) {
    if (!line_.empty() && line_.front() != '#') {
      split();
      for (const Field& field : fields_) {
        header_.emplace_back(field.text);
      }
      return;
    }
  }
  scenario::fail({file_, 0, 0}, "", {.problem = "The file is empty.", .allowed = "a CSV text with a header line"});
}

int RowReader::column(std::string_view name) const {
  const auto found = std::find(header_.begin(), header_.end(), name);
  return found == header_.end() ? -1 : static_cast<int>(found - header_.begin());
}

bool RowReader::next() {
  while (next_line()) {
    if (line_.empty()) {
      continue;
    }
    split_row();
    if (fields_.size() != header_.size()) {
      refuse_line(0, fmt::format("The row has {} fields, the header {}.", fields_.size(), header_.size()), shown(line_),
                  fmt::format("{} fields", header_.size()));
    }
    return true;
  }
  return false;
}

double RowReader::number(int column) const {
  const std::string_view text = field(column);
  double value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) {
    refuse(column, "This is not a number.", "a finite number");
  }
  return value;
}

std::int64_t RowReader::integer(int column, std::int64_t least, std::int64_t most) const {
  const double value = number(column);
  if (value != std::floor(value) || value < static_cast<double>(least) || value > static_cast<double>(most)) {
    refuse(column, "This is not a number of its kind.", fmt::format("a whole number from {} to {}", least, most));
  }
  return static_cast<std::int64_t>(value);
}

void RowReader::refuse(int column, std::string problem, std::string allowed) const {
  const Field& field = fields_[static_cast<std::size_t>(column)];
  refuse_line(field.start, fmt::format("{}: {}", header_[static_cast<std::size_t>(column)], std::move(problem)),
              shown(field.text), std::move(allowed));
}

bool RowReader::next_line() {
  if (text_.empty()) {
    return false;
  }
  const std::size_t end = text_.find('\n');
  line_ = text_.substr(0, end);
  text_.remove_prefix(end == std::string_view::npos ? text_.size() : end + 1);
  if (line_.ends_with('\r')) {
    line_.remove_suffix(1);
  }
  line_number_ = ++lines_read_;
  return true;
}

/// The line and the one after it as one; false: there is none, or none is to be joined.
bool RowReader::join_line() {
  const char* start = line_.data();
  const int first = line_number_;
  if (!joins_lines_ || !next_line()) {
    return false;
  }
  line_ = {start, static_cast<std::size_t>(line_.data() + line_.size() - start)};
  line_number_ = first;
  return true;
}

/// Splits the line with those that its quotes reach, if that makes a row, or else by itself.
void RowReader::split_row() {
  const std::string_view text = text_;
  const std::string_view line = line_;
  const int lines = lines_read_;
  joins_lines_ = true;
  try {
    split();
  } catch (const error::ScenarioError&) {
    fields_.clear();
  }
  joins_lines_ = false;
  if (fields_.size() == header_.size()) {
    return;
  }
  text_ = text;
  line_ = line;
  lines_read_ = lines;
  split();
}

void RowReader::split() {
  fields_.clear();
  unquoted_.clear();
  std::size_t start = 0;
  for (;;) {
    std::size_t end = 0;
    if (start < line_.size() && line_[start] == '"') {
      end = split_quoted(start);
    } else {
      end = std::min(line_.find(',', start), line_.size());
      fields_.push_back({trimmed(line_.substr(start, end - start)), start});
    }
    if (end >= line_.size()) {
      return;
    }
    start = end + 1;
  }
}

/// Reads the quoted field that starts at `start`; returns where its comma stands, or the line's end.
std::size_t RowReader::split_quoted(std::size_t start) {
  std::string content;
  std::size_t at = start + 1;
  while (at < line_.size() || join_line()) {
    if (line_[at] != '"') {
      content += line_[at++];
    } else if (at + 1 < line_.size() && line_[at + 1] == '"') {
      content += '"';
      at += 2;
    } else {
      break;
    }
  }
  const bool closed = at < line_.size() && (at + 1 == line_.size() || line_[at + 1] == ',');
  if (!closed) {
    refuse_line(start, "A quoted field does not end before a comma or the end of the line.", shown(line_.substr(start)),
                "\"field\", with quotes inside doubled");
  }
  unquoted_.push_back(std::move(content));
  fields_.push_back({unquoted_.back(), start});
  return at + 1;
}

void RowReader::refuse_line(std::size_t at, std::string problem, std::string read, std::string allowed) const {
  scenario::fail({file_, line_number_, static_cast<int>(at) + 1}, "",
                 {.problem = std::move(problem), .read = std::move(read), .allowed = std::move(allowed)});
}

}  // namespace lamina::trace
