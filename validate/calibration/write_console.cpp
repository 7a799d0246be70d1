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
    append_wrapped(out, fmt::format("  {:<19}{:<15}", short_key(constant.key), constant.text), 36,
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

}  // namespace

std::string to_console(const Calibration& calibration) {
  std::string out;
  append_wrapped(out, "Calibration from", 17, fmt::format("{}", fmt::join(calibration.sources, ", ")));
  for (const Label& condition : calibration.conditions) {
    append_wrapped(out, "  " + condition.key, 12, condition.text);
  }
  out += '\n';
  const bool full = calibration.entries.size() <= kMostInFull;
  for (const Entry& entry : calibration.entries) {
    full ? append_full(out, entry) : append_short(out, entry);
  }
  if (!full) {
    out += fmt::format("\n{} entries; --select KEY=VALUE shows one in full. (?): not resolved\nby the measurements.\n",
                       calibration.entries.size());
  }
  for (const std::string& skipped : calibration.skipped) {
    append_wrapped(out, "skipped", 9, skipped);
  }
  return out;
}

}  // namespace lamina::validate::calibration
