#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "sim/report/format.hpp"
#include "sim/report/text.hpp"
#include "validate/calibration/write.hpp"

namespace lamina::validate::calibration {
namespace {

constexpr std::size_t kColumns = 80;
constexpr std::size_t kMostInFull = 6;
constexpr std::size_t kTuned = 36;  ///< column where a constant's rows are named

/// `text` in lines that begin with `indent` blanks, the first with `head` instead.
void append_wrapped(std::string& out, const std::string& head, std::size_t indent, const std::string& text) {
  const std::vector<std::string> lines = report::wrap(report::printable(text), kColumns - indent);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    out += (i == 0 ? report::pad_right(head, indent) : std::string(indent, ' ')) + lines[i] + '\n';
  }
}

std::string short_key(const std::string& key) {
  return key.substr(key.rfind('.') == std::string::npos ? 0 : key.rfind('.') + 1);
}

std::string title_of(const Entry& entry) {
  return fmt::format("{}.{}", plural_of(entry.kind), entry.name);
}

void append_residuals(std::string& out, const Entry& entry) {
  if (entry.residuals.empty()) {
    return;
  }
  out += fmt::format("  {:<25}{:>7}{:>9}{:>9}{:>9}  {}\n", "fitted against measured", "points", "median", "worst",
                     "bias", "worst at");
  for (const Residual& residual : entry.residuals) {
    out += fmt::format("    {}{:>7}{:>9}{:>9}{:>9}  {}\n",
                       report::pad_right(residual.range.empty() ? "all" : residual.range, 23), residual.points,
                       report::percent(residual.median), report::percent(residual.worst),
                       report::percent(residual.bias, true), report::truncate(residual.worst_at, 17));
  }
}

void append_full(std::string& out, const Entry& entry) {
  out += report::truncate(title_of(entry), kColumns) + '\n';
  append_wrapped(out, "", 2, entry.summary);
  for (const Constant& constant : entry.constants) {
    std::string head = fmt::format("  {:<19}{:<15}", short_key(constant.key), constant.text);
    if (head.size() > kTuned) {  // the peaks of several types
      append_wrapped(out, fmt::format("  {}", short_key(constant.key)), 21, constant.text);
      head.clear();
    }
    append_wrapped(out, head, kTuned,
                   fmt::format("{}{}", constant.resolved ? "from " : "not resolved: ", constant.tuned_by));
  }
  append_residuals(out, entry);
  if (std::isfinite(entry.spread)) {
    out += fmt::format("  spread of repeated measurements, median {}\n", report::percent(entry.spread));
  }
  for (const std::string& step : entry.steps) {
    append_wrapped(out, "  step", 9, step);
  }
  for (const LeftOut& left : entry.left_out) {
    append_wrapped(out, "  left out", 13,
                   fmt::format("{} row{}: {}", left.rows, left.rows == 1 ? "" : "s", left.reason));
  }
  for (const std::string& note : entry.notes) {
    append_wrapped(out, "  note", 9, note);
  }
  out += '\n';
}

/// "233.5 GB/s, 5.1 us"
void append_short(std::string& out, const Entry& entry) {
  std::string values;
  for (const Constant& constant : entry.constants) {
    values += fmt::format("{}{}{}", values.empty() ? "" : ", ", constant.text, constant.resolved ? "" : " (?)");
  }
  if (!entry.residuals.empty()) {
    const Residual& all = entry.residuals.front();
    values += fmt::format("; {} points, median {}, worst {}", all.points, report::percent(all.median),
                          report::percent(all.worst));
  }
  out += report::truncate(title_of(entry), kColumns) + '\n';
  append_wrapped(out, "", 4, values);
}

/// A number as its column's name says: "time_s", "size_bytes", "flops_per_s", "spread".
std::string cell(const std::string& column, double value) {
  if (!std::isfinite(value)) {
    return "-";
  }
  if (column.ends_with("flops_per_s")) {
    return report::scaled(value) + "FLOP/s";
  }
  if (column.ends_with("_s")) {
    return report::seconds(value);
  }
  if (column.ends_with("_bytes")) {
    return size_text(value);
  }
  return column == "spread" || column == "slowdown" ? report::percent(value) : fmt::format("{:.6g}", value);
}

std::string heading(const std::string& column) {
  if (column.ends_with("flops_per_s")) {
    return "rate";
  }
  const std::size_t unit = column.ends_with("_s") ? 2 : column.ends_with("_bytes") ? 6 : 0;
  std::string text = column.substr(0, column.size() - unit);
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

void append_measurement(std::string& out, const Measurement& measurement) {
  out += report::truncate(measurement.name, kColumns) + '\n';
  append_wrapped(out, "", 2, measurement.summary);
  std::vector<std::string> lines(measurement.table.rows.size() + 1, "  ");
  for (std::size_t i = 0; i < measurement.table.columns.size(); ++i) {
    const std::string& column = measurement.table.columns[i];
    if (column == "samples") {
      continue;
    }
    std::vector<std::string> cells = {heading(column)};
    for (const std::vector<double>& row : measurement.table.rows) {
      cells.push_back(cell(column, row[i]));
    }
    std::size_t width = 0;
    for (const std::string& text : cells) {
      width = std::max(width, report::display_width(text));
    }
    for (std::size_t line = 0; line < lines.size(); ++line) {
      lines[line] += fmt::format("{}{}", lines[line].size() > 2 ? "  " : "", report::pad_left(cells[line], width));
    }
  }
  for (const std::string& line : lines) {
    out += report::truncate(line, kColumns) + '\n';
  }
  for (const std::string& note : measurement.notes) {
    append_wrapped(out, "  note", 9, note);
  }
  out += '\n';
}

}  // namespace

std::string to_console(const Calibration& calibration) {
  std::string out;
  append_wrapped(out, "Calibration from", 17, fmt::format("{}", fmt::join(calibration.sources, ", ")));
  for (const Label& condition : calibration.conditions) {
    append_wrapped(out, "  " + condition.key, 12, condition.text);
  }
  out += '\n';
  const bool full = calibration.entries.size() <= kMostInFull || !calibration.measurements.empty();
  for (const Entry& entry : calibration.entries) {
    full ? append_full(out, entry) : append_short(out, entry);
  }
  if (!full) {
    out += fmt::format("\n{} entries; --select KEY=VALUE shows one in full. (?): not resolved\nby the measurements.\n",
                       calibration.entries.size());
  }
  for (const Measurement& measurement : calibration.measurements) {
    append_measurement(out, measurement);
  }
  for (const std::string& skipped : calibration.skipped) {
    append_wrapped(out, "skipped", 9, skipped);
  }
  return out;
}

}  // namespace lamina::validate::calibration
