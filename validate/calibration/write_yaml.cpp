#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include <fmt/format.h>

#include "sim/report/text.hpp"
#include "validate/calibration/write.hpp"

namespace lamina::validate::calibration {
namespace {

constexpr const char* kHead =
    "# Written by `lamina calibrate`. A scenario that says `hardware: FILE` can name the entries below like those of "
    "the\n"
    "# catalogue (docs/calibration.md). `calibration:` says how they were got: measured tables apart from fitted "
    "constants.\n";
constexpr std::string_view kCostModel = "cost_model.";

/// A double-quoted scalar; control characters become blanks.
std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : report::printable(text)) {
    result += c == '"' || c == '\\' ? fmt::format("\\{}", c) : std::string(1, c);
  }
  return result + '"';
}

/// Whole numbers exactly, others with nine digits; nothing for what was not measured.
std::string plain(double value) {
  constexpr double kLargestExact = 9007199254740992.0;  // 2^53
  if (std::floor(value) == value && std::abs(value) < kLargestExact) {
    return fmt::format("{:.0f}", value);
  }
  return std::isfinite(value) ? fmt::format("{:.9g}", value) : "";
}

std::string number(double value) {
  return std::isfinite(value) ? fmt::format("{:.6g}", value) : "~";
}

/// Keys of the cost model stand in one mapping of their own.
void append_entry(std::string& text, const Entry& entry) {
  std::string own;
  std::string model;
  const auto add = [&](const std::string& key, const std::string& value) {
    if (key.starts_with(kCostModel)) {
      model += fmt::format("{}{}: {}", model.empty() ? "" : ", ", key.substr(kCostModel.size()), value);
    } else {
      own += fmt::format("    {}: {}\n", key, value);
    }
  };
  for (const Label& setting : entry.settings) {
    add(setting.key, setting.text);
  }
  for (const Constant& constant : entry.constants) {
    add(constant.key, constant.text);
  }
  text += fmt::format("  {}:\n    summary: {}\n    source: {}\n{}", entry.name, quoted(entry.summary),
                      quoted(entry.source), own);
  text += model.empty() ? "" : fmt::format("    cost_model: {{{}}}\n", model);
}

void append_labels(std::string& text, const char* indent, const char* key, const std::vector<Label>& labels) {
  if (labels.empty()) {
    return;
  }
  text += fmt::format("{}{}:\n", indent, key);
  for (const Label& label : labels) {
    text += fmt::format("{}  {}: {}\n", indent, label.key, quoted(label.text));
  }
}

void append_list(std::string& text, const char* indent, const char* key, const std::vector<std::string>& items) {
  if (items.empty()) {
    return;
  }
  text += fmt::format("{}{}:\n", indent, key);
  for (const std::string& item : items) {
    text += fmt::format("{}  - {}\n", indent, quoted(item));
  }
}

void append_fit(std::string& text, const Entry& entry) {
  text += "      fitted:\n";
  for (const Constant& constant : entry.constants) {
    text += fmt::format("        - {{key: {}, value: {:.9g}, resolved: {}, tuned_by: {}}}\n", constant.key,
                        constant.value, constant.resolved, quoted(constant.tuned_by));
  }
  if (!entry.residuals.empty()) {
    text += "      residuals:\n";
    for (const Residual& residual : entry.residuals) {
      text +=
          fmt::format("        - {{range: {}, points: {}, median: {}, worst: {}, bias: {}, worst_at: {}}}\n",
                      quoted(residual.range.empty() ? "all" : residual.range), residual.points, number(residual.median),
                      number(residual.worst), number(residual.bias), quoted(residual.worst_at));
    }
  }
  append_list(text, "      ", "steps", entry.steps);
}

void append_table(std::string& text, const Table& table) {
  if (table.rows.empty()) {
    return;
  }
  text += fmt::format("      table_keys: {}\n      table: |\n        {}\n", table.keys, fmt::join(table.columns, ","));
  for (const std::vector<double>& row : table.rows) {
    text += "        ";
    for (std::size_t i = 0; i < row.size(); ++i) {
      text += (i == 0 ? "" : ",") + plain(row[i]);
    }
    text += '\n';
  }
}

void append_origin(std::string& text, const Entry& entry) {
  text += fmt::format("    - hardware: {}.{}\n", plural_of(entry.kind), entry.name);
  append_labels(text, "      ", "measured", entry.measured);
  append_labels(text, "      ", "conditions", entry.conditions);
  append_fit(text, entry);
  if (std::isfinite(entry.spread)) {
    text += fmt::format("      spread: {}\n", number(entry.spread));
  }
  if (!entry.left_out.empty()) {
    text += "      left_out:\n";
    for (const LeftOut& left : entry.left_out) {
      text += fmt::format("        - {{reason: {}, rows: {}}}\n", quoted(left.reason), left.rows);
    }
  }
  append_list(text, "      ", "notes", entry.notes);
  append_table(text, entry.table);
}

void append_measurements(std::string& text, const std::vector<Measurement>& measurements) {
  text += measurements.empty() ? "" : "  measurements:\n";
  for (const Measurement& measurement : measurements) {
    text += fmt::format("    - name: {}\n      summary: {}\n", measurement.name, quoted(measurement.summary));
    append_list(text, "      ", "notes", measurement.notes);
    append_table(text, measurement.table);
  }
}

}  // namespace

std::string to_yaml(const Calibration& calibration) {
  std::string text = kHead;
  for (const Kind kind : {Kind::kAccelerator, Kind::kDeviceLink, Kind::kHostPath, Kind::kNetwork}) {
    bool first = true;
    for (const Entry& entry : calibration.entries) {
      if (entry.kind == kind) {
        text += first ? fmt::format("{}:\n", plural_of(kind)) : "";
        first = false;
        append_entry(text, entry);
      }
    }
  }
  text += "calibration:\n  version: 1\n";
  append_list(text, "  ", "sources", calibration.sources);
  append_labels(text, "  ", "conditions", calibration.conditions);
  append_list(text, "  ", "skipped", calibration.skipped);
  text += "  entries:\n";
  for (const Entry& entry : calibration.entries) {
    append_origin(text, entry);
  }
  append_measurements(text, calibration.measurements);
  return text;
}

}  // namespace lamina::validate::calibration
