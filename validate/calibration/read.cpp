#include "validate/calibration/read.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "sim/scenario/fault.hpp"
#include "sim/scenario/text_file.hpp"
#include "sim/scenario/tree.hpp"
#include "sim/units/parse.hpp"

namespace lamina::validate::calibration {
namespace {

using scenario::Tree;
using scenario::TreeEntry;

constexpr std::string_view kCostModel = "cost_model";

[[noreturn]] void refuse(const Tree& tree, const std::string& key, std::string problem, std::string allowed) {
  scenario::fail(tree.position.location(), key,
                 {.problem = std::move(problem), .read = scenario::describe(tree), .allowed = std::move(allowed)});
}

const Tree* find(const Tree& tree, std::string_view key) {
  const TreeEntry* entry = tree.find(key);
  return entry == nullptr ? nullptr : &entry->value;
}

const Tree& need(const Tree& tree, const std::string& key) {
  const Tree* found = find(tree, key);
  if (found == nullptr) {
    refuse(tree, key, fmt::format("The key \"{}\" is missing.", key), "what lamina calibrate writes");
  }
  return *found;
}

std::string word(const Tree& tree, const std::string& key) {
  const Tree& value = need(tree, key);
  if (!value.is_scalar()) {
    refuse(value, key, "The value has the wrong type.", "a word");
  }
  return value.text;
}

/// Nothing reads as unknown.
double number(const Tree& tree, const std::string& key) {
  const Tree& value = need(tree, key);
  if (value.is_null()) {
    return kUnknown;
  }
  const auto parsed = units::parse_number(value.is_scalar() ? value.text : "");
  if (!parsed) {
    refuse(value, key, "This is not a number.", "a number, or ~ for unknown");
  }
  return *parsed;
}

std::vector<Label> labels(const Tree& tree, std::string_view key) {
  std::vector<Label> result;
  if (const Tree* mapping = find(tree, key)) {
    for (const TreeEntry& entry : mapping->entries) {
      result.push_back({entry.key, entry.value.text});
    }
  }
  return result;
}

std::vector<std::string> texts(const Tree& tree, std::string_view key) {
  std::vector<std::string> result;
  if (const Tree* list = find(tree, key)) {
    for (const Tree& item : list->items) {
      result.push_back(item.text);
    }
  }
  return result;
}

const std::vector<Tree>& items(const Tree& tree, std::string_view key) {
  static const std::vector<Tree> nothing;
  const Tree* list = find(tree, key);
  return list == nullptr ? nothing : list->items;
}

/// A value as it may stand in a flow mapping.
std::string flow(const Tree& value) {
  if (!value.is_mapping()) {
    return value.text;
  }
  std::string text;
  for (const TreeEntry& entry : value.entries) {
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", entry.key, flow(entry.value));
  }
  return fmt::format("{{{}}}", text);
}

/// Keys of the hardware entry, those of its cost model as "cost_model.KEY".
std::vector<Label> keys_of(const Tree& hardware) {
  std::vector<Label> result;
  for (const TreeEntry& entry : hardware.entries) {
    if (entry.key != kCostModel) {
      result.push_back({entry.key, flow(entry.value)});
      continue;
    }
    for (const TreeEntry& parameter : entry.value.entries) {
      result.push_back({fmt::format("{}.{}", kCostModel, parameter.key), flow(parameter.value)});
    }
  }
  return result;
}

std::vector<double> row_of(std::string_view line, std::size_t columns, const Tree& table) {
  std::vector<double> row;
  for (std::size_t start = 0; start <= line.size();) {
    const std::size_t end = std::min(line.find(',', start), line.size());
    const std::string_view field = line.substr(start, end - start);
    const auto parsed = field.empty() ? units::Parsed<double>(kUnknown) : units::parse_number(field);
    if (!parsed) {
      refuse(table, "table", fmt::format("Row \"{}\" has a field that is no number.", line), "numbers between commas");
    }
    row.push_back(*parsed);
    start = end + 1;
  }
  if (row.size() != columns) {
    refuse(table, "table", fmt::format("Row \"{}\" has {} fields.", line, row.size()),
           fmt::format("{} fields", columns));
  }
  return row;
}

Table table_of(const Tree& entry) {
  Table table;
  const Tree* written = find(entry, "table");
  if (written == nullptr) {
    return table;
  }
  table.keys = static_cast<std::size_t>(std::clamp(number(entry, "table_keys"), 1.0, 100.0));
  std::string_view text = written->text;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!table.columns.empty()) {
      table.rows.push_back(row_of(line, table.columns.size(), *written));
      continue;
    }
    for (std::size_t start = 0; start <= line.size();) {
      const std::size_t comma = std::min(line.find(',', start), line.size());
      table.columns.emplace_back(line.substr(start, comma - start));
      start = comma + 1;
    }
  }
  return table;
}

Residual residual_of(const Tree& tree) {
  Residual residual;
  const std::string range = word(tree, "range");
  residual.range = range == "all" ? "" : range;
  residual.points = static_cast<std::int64_t>(number(tree, "points"));
  residual.median = number(tree, "median");
  residual.worst = number(tree, "worst");
  residual.bias = number(tree, "bias");
  residual.worst_at = word(tree, "worst_at");
  return residual;
}

/// The hardware that "networks.mine" names.
const Tree& hardware_of(const Tree& root, const Tree& entry, Entry& result) {
  const std::string place = word(entry, "hardware");
  const std::size_t dot = place.find('.');
  for (const Kind kind : {Kind::kAccelerator, Kind::kDeviceLink, Kind::kHostPath, Kind::kNetwork}) {
    const Tree* group = plural_of(kind) == place.substr(0, dot) ? find(root, plural_of(kind)) : nullptr;
    const Tree* hardware = group == nullptr || dot == std::string::npos ? nullptr : find(*group, place.substr(dot + 1));
    if (hardware != nullptr) {
      result.kind = kind;
      result.name = place.substr(dot + 1);
      return *hardware;
    }
  }
  refuse(need(entry, "hardware"), "hardware", "The file has no such hardware.", "for example networks.mine");
}

Entry entry_of(const Tree& root, const Tree& tree) {
  Entry entry;
  const Tree& hardware = hardware_of(root, tree, entry);
  entry.summary = word(hardware, "summary");
  entry.source = word(hardware, "source");
  std::vector<Label> keys = keys_of(hardware);
  std::erase_if(keys, [](const Label& label) { return label.key == "summary" || label.key == "source"; });
  for (const Tree& fitted : items(tree, "fitted")) {
    Constant constant;
    constant.key = word(fitted, "key");
    constant.value = number(fitted, "value");
    constant.resolved = word(fitted, "resolved") == "true";
    constant.tuned_by = word(fitted, "tuned_by");
    const auto found =
        std::find_if(keys.begin(), keys.end(), [&](const Label& label) { return label.key == constant.key; });
    if (found == keys.end()) {
      refuse(fitted, constant.key, "The hardware has no such key.", "a key of the entry");
    }
    constant.text = found->text;
    keys.erase(found);
    entry.constants.push_back(std::move(constant));
  }
  entry.settings = std::move(keys);
  entry.measured = labels(tree, "measured");
  entry.conditions = labels(tree, "conditions");
  for (const Tree& residual : items(tree, "residuals")) {
    entry.residuals.push_back(residual_of(residual));
  }
  for (const Tree& left : items(tree, "left_out")) {
    entry.left_out.push_back({word(left, "reason"), static_cast<std::int64_t>(number(left, "rows"))});
  }
  entry.spread = find(tree, "spread") == nullptr ? kUnknown : number(tree, "spread");
  entry.steps = texts(tree, "steps");
  entry.notes = texts(tree, "notes");
  entry.table = table_of(tree);
  return entry;
}

}  // namespace

Calibration read_calibration(const std::filesystem::path& file) {
  const Tree root = scenario::parse_yaml(scenario::read_text_file(file, scenario::kLargestHardwareFile), file.string());
  const Tree& written = need(root, "calibration");
  if (word(written, "version") != "1") {
    refuse(need(written, "version"), "version", "This version of the format is not supported.", "1");
  }
  Calibration calibration;
  calibration.sources = texts(written, "sources");
  calibration.conditions = labels(written, "conditions");
  calibration.skipped = texts(written, "skipped");
  for (const Tree& entry : items(written, "entries")) {
    calibration.entries.push_back(entry_of(root, entry));
  }
  for (const Tree& measurement : items(written, "measurements")) {
    calibration.measurements.push_back(
        {word(measurement, "name"), word(measurement, "summary"), texts(measurement, "notes"), table_of(measurement)});
  }
  return calibration;
}

}  // namespace lamina::validate::calibration
