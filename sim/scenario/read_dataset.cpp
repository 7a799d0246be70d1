#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "sim/catalog/catalog.hpp"
#include "sim/scenario/axis_key.hpp"
#include "sim/scenario/dataset.hpp"
#include "sim/scenario/fault.hpp"
#include "sim/scenario/reader.hpp"
#include "sim/scenario/schema_dataset.hpp"

namespace lamina::scenario {
namespace {

bool is_identifier(std::string_view name) {
  return !name.empty() && column_identifier(name) == name && !(name.front() >= '0' && name.front() <= '9');
}

Expression parse_expression(const std::string& text, const Position& position, const std::string& path,
                            const std::string& prefix = "") {
  auto expression = Expression::parse(text);
  if (!expression) {
    const ExpressionFault& fault = expression.error();
    fail(position.location(), path,
         {fault.problem, fmt::format("column {} of \"{}{}\"", fault.column + prefix.size(), prefix, text),
          fault.allowed});
  }
  return std::move(*expression);
}

[[noreturn]] void refuse_kind(const Tree& value, const std::string& path, const std::string& allowed) {
  fail(value.position.location(), path,
       {value.is_null() ? "The key has no value." : "The value has the wrong type.", describe(value), allowed});
}

std::vector<Tree> list_of(const Tree& value, const std::string& path, const std::string& what) {
  if (value.kind != Tree::Kind::kList || value.items.empty()) {
    refuse_kind(value, path, "a list of " + what);
  }
  return value.items;
}

/// One, or a list.
std::vector<Tree> one_or_more(const Tree& value) {
  return value.kind == Tree::Kind::kList ? value.items : std::vector<Tree>{value};
}

std::vector<std::string> words_of(const Tree& value, const std::string& path) {
  std::vector<std::string> words;
  for (const Tree& item : list_of(value, path, "texts")) {
    if (!item.is_scalar()) {
      refuse_kind(item, path, "a text");
    }
    words.push_back(item.text);
  }
  return words;
}

bool is_rule_mapping(const Tree& tree) {
  return tree.find("value") != nullptr || tree.find("column") != nullptr || tree.find("when") != nullptr;
}

class DatasetReader {
 public:
  DatasetReader(const Schema& schema, const std::filesystem::path& file) : schema_(schema) { dataset_.file = file; }

  Dataset read(const Tree& root, const std::vector<std::string>& figures) {
    if (!root.is_mapping()) {
      fail(root.position.location(), "",
           {"A dataset file is a mapping from keys to values.", root.is_null() ? "an empty file" : describe(root),
            enumerate(dataset_section("dataset file").key_names())});
    }
    const SectionReader reader(dataset_section("dataset file"), root, "");
    (void)reader.integer("schema_version");
    read_head(*reader.value("dataset"));
    read_columns(reader);
    read_scenario(*reader.value("scenario"));
    read_keys(reader);
    read_measured(*reader.value("measured"), figures);
    read_conditions(reader);
    return std::move(dataset_);
  }

 private:
  void read_head(const Tree& value) {
    const SectionReader reader(dataset_section("dataset"), value, "dataset");
    dataset_.name = reader.text_or("name", dataset_.file.stem().string());
    dataset_.summary = reader.has("summary") ? reader.text("summary") : "";
    dataset_.source = reader.text("source");
    dataset_.tuned = reader.text("tuned");
    if (reader.has("target")) {
      dataset_.target = reader.number("target");
    }
    if (reader.has("data") == reader.has("rows")) {
      reader.fail_at("data", {reader.has("data") ? "Both data and rows are given." : "The dataset has no table.", "",
                              "either data: FILE.csv or rows: [...]"});
    }
    if (reader.has("data")) {
      dataset_.data = reader.text("data");
    } else {
      read_rows(*reader.value("rows"));
    }
    if (const Tree* peers = reader.value("peers")) {
      for (const Tree& item : list_of(*peers, "dataset.peers", "mappings")) {
        const SectionReader peer(dataset_section("peer"), item, "dataset.peers");
        dataset_.peers.push_back({peer.text("name"), peer.number("mean_absolute_error"), peer.text("source")});
      }
    }
    if (const Tree* order = reader.value("order_within")) {
      dataset_.order_within = words_of(*order, "dataset.order_within");
      dataset_.order_position = order->position;
    }
    if (const Tree* causes = reader.value("causes")) {
      dataset_.causes = words_of(*causes, "dataset.causes");
    }
  }

  void read_rows(const Tree& rows) {
    for (const Tree& item : list_of(rows, "dataset.rows", "mappings from columns to values")) {
      if (!item.is_mapping()) {
        refuse_kind(item, "dataset.rows", "a mapping from columns to values");
      }
      InlineRow row;
      row.line = item.position.line;
      for (const TreeEntry& cell : item.entries) {
        if (!cell.value.is_scalar() && !cell.value.is_null()) {
          refuse_kind(cell.value, fmt::format("dataset.rows.{}", cell.key), "a number or a word");
        }
        row.cells.emplace_back(cell.key, cell.value.text);
      }
      dataset_.rows.push_back(std::move(row));
    }
  }

  void read_columns(const SectionReader& reader) {
    for (const TreeEntry* entry : entries_of(reader, "columns")) {
      if (!is_identifier(entry->key)) {
        fail(entry->position.location(), "columns",
             {"A column's name consists of letters, digits and single underscores.", entry->key.substr(0, 80),
              fmt::format("for example {}", column_identifier(entry->key.substr(0, 80)))});
      }
      dataset_.columns.push_back(rule_of(*entry, entry->key, "columns", ValueKind::kText));
    }
  }

  void read_keys(const SectionReader& reader) {
    std::set<std::string> taken;
    for (const TreeEntry* entry : entries_of(reader, "keys")) {
      const AxisKey key = find_axis_key(schema_, entry->key, entry->position);
      if (!taken.insert(key.name).second) {
        fail(entry->position.location(), key.name, {"The key is given twice."});
      }
      dataset_.keys.push_back(
          rule_of(*entry, key.name, "keys", key.spec == nullptr ? ValueKind::kText : key.spec->kind));
    }
  }

  void read_measured(const Tree& measured, const std::vector<std::string>& figures) {
    if (!measured.is_mapping() || measured.entries.empty()) {
      refuse_kind(measured, "measured", "a mapping from figures to values");
    }
    for (const TreeEntry& entry : measured.entries) {
      if (std::find(figures.begin(), figures.end(), entry.key) == figures.end()) {
        fail(entry.position.location(), "measured",
             {"The report has no such figure.", entry.key.substr(0, 80), enumerate(figures),
              catalog::nearest_name(entry.key, figures)});
      }
      dataset_.measured.push_back(rule_of(entry, entry.key, "measured", ValueKind::kNumber));
    }
  }

  /// The base of all rows; runs happened, so memory is reported and not enforced.
  void read_scenario(const Tree& scenario) {
    if (!scenario.is_mapping()) {
      refuse_kind(scenario, "scenario", "a mapping, as a scenario file");
    }
    dataset_.scenario = scenario;
    for (const char* key : {"sweep", "reference", "training"}) {
      if (const TreeEntry* entry = scenario.find(key)) {
        fail(entry->position.location(), fmt::format("scenario.{}", key), {"This key has no meaning in a dataset."});
      }
    }
    if (scenario.find("schema_version") == nullptr) {
      dataset_.scenario.set("schema_version", scalar("1", scenario.position));
    }
    TreeEntry* simulation = dataset_.scenario.find("simulation");
    if (simulation == nullptr) {
      dataset_.scenario.set("simulation", mapping(scenario.position));
      simulation = dataset_.scenario.find("simulation");
    }
    if (simulation->value.is_mapping() && simulation->value.find("enforce_memory") == nullptr) {
      simulation->value.set("enforce_memory", scalar("false", simulation->value.position));
    }
  }

  void read_conditions(const SectionReader& reader) {
    if (const Tree* where = reader.value("where")) {
      for (const Tree& condition : one_or_more(*where)) {
        dataset_.where.push_back(condition_of(condition, "where"));
      }
    }
    if (const Tree* incomplete = reader.value("incomplete")) {
      for (const Tree& item : list_of(*incomplete, "incomplete", "mappings")) {
        const SectionReader rule(dataset_section("incomplete"), item, "incomplete");
        dataset_.incomplete.push_back({condition_of(*rule.value("when"), "incomplete.when"), rule.text("reason")});
      }
    }
  }

  static std::vector<const TreeEntry*> entries_of(const SectionReader& reader, std::string_view key) {
    std::vector<const TreeEntry*> entries;
    if (const Tree* value = reader.value(key)) {
      if (!value->is_mapping()) {
        refuse_kind(*value, std::string(key), "a mapping from names to values");
      }
      for (const TreeEntry& entry : value->entries) {
        entries.push_back(&entry);
      }
    }
    return entries;
  }

  static Filter condition_of(const Tree& tree, const std::string& path) {
    if (!tree.is_scalar()) {
      refuse_kind(tree, path, "a condition over columns");
    }
    return parse_condition(tree.text, tree.position, path);
  }

  static RowRule rule_of(const TreeEntry& entry, const std::string& name, const std::string& section, ValueKind kind) {
    RowRule rule;
    rule.name = name;
    rule.position = entry.position;
    rule.kind = kind;
    const std::string path = fmt::format("{}.{}", section, entry.key.substr(0, 80));
    const Tree& value = entry.value;
    const bool alternatives =
        value.kind == Tree::Kind::kList && !value.items.empty() && is_rule_mapping(value.items.front());
    for (const Tree& item : alternatives ? value.items : std::vector<Tree>{value}) {
      rule.alternatives.push_back(alternatives || is_rule_mapping(item) ? mapped_value(item, path)
                                                                        : plain_value(item, path));
    }
    return rule;
  }

  /// A constant or "= ...".
  static RowValue plain_value(const Tree& value, const std::string& path) {
    if (value.is_null()) {
      refuse_kind(value, path, "a constant, = an expression, or a mapping with value or column");
    }
    RowValue result;
    result.position = value.position;
    if (value.is_scalar() && value.text.starts_with('=')) {
      result.expression = parse_expression(value.text.substr(1), value.position, path, "=");
    } else {
      result.constant = value;
    }
    return result;
  }

  static RowValue mapped_value(const Tree& value, const std::string& path) {
    const SectionReader reader(dataset_section("row value"), value, path);
    if (reader.has("value") == reader.has("column")) {
      reader.fail_at("value", {"Exactly one of value and column is needed.", "", "value: ..., or column: NAME"});
    }
    RowValue result;
    if (reader.has("value")) {
      if (reader.has("values")) {
        reader.fail_at("values", {"This goes with column only."});
      }
      result = plain_value(*reader.value("value"), path);
    } else {
      result.position = value.position;
      result.expression = parse_expression(reader.text("column"), reader.value("column")->position, path + ".column");
      reader.require("values");
      const Tree& values = *reader.value("values");
      if (!values.is_mapping() || values.entries.empty()) {
        reader.fail_at("values", {"The value has the wrong type.", describe(values),
                                  "a mapping from the column's values to constants"});
      }
      for (const TreeEntry& entry : values.entries) {
        result.entries.emplace_back(entry.key, entry.value);
      }
    }
    if (const Tree* when = reader.value("when")) {
      result.when = condition_of(*when, path + ".when");
    }
    return result;
  }

  const Schema& schema_;
  Dataset dataset_;
};

/// Checks the names of one rule after the other.
class NameCheck {
 public:
  explicit NameCheck(const std::vector<std::string>& columns) : known_(columns.begin(), columns.end()) {}

  void rules(const std::vector<RowRule>& rules, const std::string& section) const {
    for (const RowRule& rule : rules) {
      rule_at(rule, fmt::format("{}.{}", section, rule.name));
    }
  }

  void columns(const std::vector<RowRule>& rules) {
    for (const RowRule& rule : rules) {
      rule_at(rule, fmt::format("columns.{}", rule.name));
      if (!known_.insert(rule.name).second) {
        fail(rule.position.location(), "columns", {"The table has a column of this name already.", rule.name});
      }
    }
  }

  void condition(const Filter& filter, const std::string& path) const {
    for (const ExpressionName& name : filter.condition.names()) {
      require(name.name, filter.position, path);
    }
  }

  void require(const std::string& name, const Position& position, const std::string& path) const {
    if (!known_.contains(name)) {
      const std::vector<std::string> names(known_.begin(), known_.end());
      fail(position.location(), path,
           {"The table has no such column.", name, enumerate(names), catalog::nearest_name(name, names)});
    }
  }

 private:
  void rule_at(const RowRule& rule, const std::string& path) const {
    for (const RowValue& value : rule.alternatives) {
      if (value.when) {
        condition(*value.when, path);
      }
      if (value.expression) {
        condition({*value.expression, value.position}, path);
      }
    }
  }

  std::set<std::string> known_;
};

}  // namespace

std::string column_identifier(std::string_view header) {
  std::string name;
  for (const char c : header) {
    const bool keeps = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (keeps) {
      name += c;
    } else if (!name.empty() && name.back() != '_') {
      name += '_';
    }
  }
  if (name.ends_with('_')) {
    name.pop_back();
  }
  return name;
}

Filter parse_condition(const std::string& text, const Position& position, const std::string& path) {
  return {parse_expression(text, position, path), position};
}

Dataset read_dataset(std::string_view text, const std::filesystem::path& file, const Plugins& plugins,
                     const std::vector<std::string>& figures) {
  const Schema schema(plugins);
  return DatasetReader(schema, file).read(parse_yaml(text, file.string()), figures);
}

void check_columns(const Dataset& dataset, const std::vector<std::string>& columns,
                   const std::vector<Filter>& filters) {
  NameCheck names(columns);
  names.columns(dataset.columns);
  names.rules(dataset.keys, "keys");
  names.rules(dataset.measured, "measured");
  for (const Filter& filter : dataset.where) {
    names.condition(filter, "where");
  }
  for (const Filter& filter : filters) {
    names.condition(filter, "--rows");
  }
  for (const IncompleteRule& rule : dataset.incomplete) {
    names.condition(rule.when, "incomplete.when");
  }
  for (const std::string& column : dataset.order_within) {
    names.require(column, dataset.order_position, "dataset.order_within");
  }
}

}  // namespace lamina::scenario
