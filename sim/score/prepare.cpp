#include "sim/score/prepare.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "sim/scenario/reader.hpp"
#include "sim/units/parse.hpp"

namespace lamina::score {
namespace {

using scenario::Operand;

/// Why a row has no value; stays inside this file.
struct NoValue {
  std::string reason;
};

Operand operand_of(const std::string& cell) {
  const auto number = units::parse_number(cell);
  return number ? Operand(*number) : Operand(cell);
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(' ');
  return first == std::string_view::npos ? "" : text.substr(first, text.find_last_not_of(' ') + 1 - first);
}

std::string text_of(const Operand& operand) {
  const auto* number = std::get_if<double>(&operand);
  return number == nullptr ? std::get<std::string>(operand) : fmt::format("{:.12g}", *number);
}

/// The names of one row. A column that has no value says why when it is used.
class Names {
 public:
  void set(const std::string& name, tl::expected<Operand, std::string> value) {
    values_.insert_or_assign(name, std::move(value));
  }

  /// @throws NoValue
  [[nodiscard]] Operand of(const scenario::Expression& expression) const {
    std::vector<Operand> operands;
    for (const scenario::ExpressionName& name : expression.names()) {
      const auto& value = values_.at(name.name);
      if (!value) {
        throw NoValue{value.error()};
      }
      operands.push_back(*value);
    }
    auto result = expression.evaluate(operands);
    if (!result) {
      throw NoValue{fmt::format("{} in \"{}\"", why(expression, operands, result.error()), trimmed(expression.text()))};
    }
    return std::move(*result);
  }

  [[nodiscard]] bool holds(const scenario::Filter& filter) const {
    const Operand value = of(filter.condition);
    const auto* number = std::get_if<double>(&value);
    if (number == nullptr) {
      throw NoValue{fmt::format("\"{}\" is a word, not a condition", filter.condition.text())};
    }
    return *number != 0;
  }

 private:
  /// An empty cell is the cause that a user knows; otherwise the expression's own.
  static std::string why(const scenario::Expression& expression, const std::vector<Operand>& operands,
                         std::string error) {
    const auto empty = std::find(operands.begin(), operands.end(), Operand(std::string()));
    if (empty == operands.end()) {
      return error;
    }
    return fmt::format("{} is empty", expression.names()[static_cast<std::size_t>(empty - operands.begin())].name);
  }

  std::map<std::string, tl::expected<Operand, std::string>> values_;
};

/// A constant tree, or a computed operand.
struct Value {
  const scenario::Tree* constant = nullptr;
  Operand computed;
};

std::optional<Value> value_of(const scenario::RowRule& rule, const Names& names) {
  const auto found =
      std::find_if(rule.alternatives.begin(), rule.alternatives.end(),
                   [&](const scenario::RowValue& value) { return !value.when || names.holds(*value.when); });
  if (found == rule.alternatives.end()) {
    return std::nullopt;
  }
  if (!found->expression) {
    return Value{&found->constant, {}};
  }
  Operand computed = names.of(*found->expression);
  if (found->entries.empty()) {
    return Value{nullptr, std::move(computed)};
  }
  const std::string text = text_of(computed);
  const auto entry = std::find_if(found->entries.begin(), found->entries.end(),
                                  [&](const auto& candidate) { return candidate.first == text; });
  if (entry == found->entries.end()) {
    throw NoValue{fmt::format("there is no entry for \"{}\"", text)};
  }
  return Value{&entry->second, {}};
}

/// As an operand; mappings and lists have none.
Operand operand_of(const Value& value, const std::string& name) {
  if (value.constant == nullptr) {
    return value.computed;
  }
  if (!value.constant->is_scalar()) {
    throw NoValue{fmt::format("{} is neither a number nor a word", name)};
  }
  return operand_of(value.constant->text);
}

std::string text_of_key(const scenario::RowRule& rule, const Operand& operand) {
  const auto* number = std::get_if<double>(&operand);
  if (number == nullptr) {
    if (std::get<std::string>(operand).empty()) {
      throw NoValue{"the cell is empty"};
    }
    return std::get<std::string>(operand);
  }
  if (rule.kind == scenario::ValueKind::kBoolean) {
    return *number != 0 ? "true" : "false";
  }
  if (rule.kind == scenario::ValueKind::kInteger) {
    if (*number != std::floor(*number)) {
      throw NoValue{fmt::format("{:.12g} is no whole number", *number)};
    }
    return fmt::format("{:.0f}", *number);
  }
  return fmt::format("{:.12g}{}", *number, scenario::unit_of(rule.kind));
}

class Preparation {
 public:
  Preparation(const scenario::Dataset& dataset, const Table& table, const std::vector<scenario::Filter>& filters)
      : dataset_(dataset), table_(table), filters_(filters) {}

  [[nodiscard]] PreparedRow of(const Table::Row& row) const {
    PreparedRow result;
    result.line = row.line;
    result.cells = row.cells;
    result.cells.resize(table_.columns.size() + dataset_.columns.size());
    result.measured.assign(dataset_.measured.size(), std::numeric_limits<double>::quiet_NaN());
    if (!row.fault.empty()) {
      leave_out(result, Status::kMalformed, row.fault);
      return result;
    }
    try {
      evaluate(result);
    } catch (NoValue& none) {
      leave_out(result, Status::kMalformed, std::move(none.reason));
    }
    return result;
  }

 private:
  static void leave_out(PreparedRow& row, Status status, std::string reason) {
    row.status = status;
    row.reason = std::move(reason);
    row.changes.clear();
  }

  [[nodiscard]] Names names_of(PreparedRow& row) const {
    Names names;
    for (std::size_t i = 0; i < table_.columns.size(); ++i) {
      names.set(table_.columns[i], operand_of(row.cells[i]));
    }
    for (std::size_t i = 0; i < dataset_.columns.size(); ++i) {
      const scenario::RowRule& rule = dataset_.columns[i];
      try {
        const auto value = value_of(rule, names);
        const Operand operand = value ? operand_of(*value, rule.name) : Operand(std::string());
        row.cells[table_.columns.size() + i] = text_of(operand);
        names.set(rule.name, operand);
      } catch (NoValue& none) {
        names.set(rule.name, tl::unexpected(fmt::format("column {}: {}", rule.name, none.reason)));
      }
    }
    return names;
  }

  void evaluate(PreparedRow& row) const {
    const Names names = names_of(row);
    for (const auto* conditions : {&dataset_.where, &filters_}) {
      for (const scenario::Filter& filter : *conditions) {
        if (!names.holds(filter)) {
          return leave_out(row, Status::kOutside, fmt::format("not {}", filter.condition.text()));
        }
      }
    }
    for (const scenario::IncompleteRule& rule : dataset_.incomplete) {
      if (names.holds(rule.when)) {
        return leave_out(row, Status::kIncomplete, rule.reason);
      }
    }
    read_measured(row, names);
    if (std::all_of(row.measured.begin(), row.measured.end(), [](double value) { return std::isnan(value); })) {
      return leave_out(row, Status::kIncomplete, "nothing was measured");
    }
    for (const scenario::RowRule& rule : dataset_.keys) {
      if (auto change = change_of(rule, names)) {
        row.changes.push_back(std::move(*change));
      }
    }
  }

  void read_measured(PreparedRow& row, const Names& names) const {
    for (std::size_t i = 0; i < dataset_.measured.size(); ++i) {
      const scenario::RowRule& rule = dataset_.measured[i];
      try {
        row.measured[i] = measured_value(rule, names);
      } catch (NoValue& none) {
        throw NoValue{fmt::format("measured {}: {}", rule.name, none.reason)};
      }
    }
  }

  /// NaN: not measured at this row. @throws NoValue
  [[nodiscard]] static double measured_value(const scenario::RowRule& rule, const Names& names) {
    const auto value = value_of(rule, names);
    if (!value) {
      return std::numeric_limits<double>::quiet_NaN();
    }
    const Operand operand = operand_of(*value, rule.name);
    const auto* number = std::get_if<double>(&operand);
    if (number == nullptr || !std::isfinite(*number) || *number <= 0) {
      throw NoValue{fmt::format("\"{}\" is no number above 0", text_of(operand))};
    }
    return *number;
  }

  [[nodiscard]] static std::optional<scenario::Change> change_of(const scenario::RowRule& rule, const Names& names) {
    try {
      const auto value = value_of(rule, names);
      if (!value) {
        return std::nullopt;
      }
      if (value->constant != nullptr) {
        return scenario::Change{rule.name, *value->constant};
      }
      return scenario::Change{rule.name, scenario::scalar(text_of_key(rule, value->computed), rule.position)};
    } catch (NoValue& none) {
      throw NoValue{fmt::format("{}: {}", rule.name, none.reason)};
    }
  }

  const scenario::Dataset& dataset_;
  const Table& table_;
  const std::vector<scenario::Filter>& filters_;
};

}  // namespace

std::string_view word_for(Status status) {
  constexpr std::array<std::string_view, kStatuses> kWords = {"scored",    "outside",    "incomplete",
                                                              "malformed", "infeasible", "failed"};
  return kWords[static_cast<std::size_t>(status)];
}

PreparedTable prepare(const scenario::Dataset& dataset, const Table& table,
                      const std::vector<scenario::Filter>& filters) {
  scenario::check_columns(dataset, table.columns, filters);
  PreparedTable result;
  result.columns = table.columns;
  for (const scenario::RowRule& rule : dataset.columns) {
    result.columns.push_back(rule.name);
  }
  const Preparation preparation(dataset, table, filters);
  for (const Table::Row& row : table.rows) {
    result.rows.push_back(preparation.of(row));
  }
  return result;
}

}  // namespace lamina::score
