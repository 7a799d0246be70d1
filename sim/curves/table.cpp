#include "sim/curves/table.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "sim/report/format.hpp"
#include "sim/scenario/fault.hpp"
#include "sim/trace/row_reader.hpp"
#include "sim/units/parse.hpp"

namespace lamina::curves {
namespace {

struct Quantity {
  double value = 0;
  std::string unit;
};

std::optional<Quantity> parse(std::string_view text) {
  if (const auto number = units::parse_number(text)) {
    return Quantity{*number, ""};
  }
  if (const auto rate = units::parse_bytes_per_second(text)) {
    constexpr double kBits = 8;
    return text.ends_with("bit/s") ? Quantity{rate->value() * kBits, "bit/s"} : Quantity{rate->value(), "B/s"};
  }
  if (const auto time = units::parse_seconds(text)) {
    return Quantity{time->value(), "s"};
  }
  if (const auto bytes = units::parse_bytes(text)) {
    return Quantity{bytes->value(), "B"};
  }
  if (const auto rate = units::parse_flops_per_second(text)) {
    return Quantity{rate->value(), "FLOP/s"};
  }
  return std::nullopt;
}

class Reader {
 public:
  Reader(std::string_view text, const std::string& file, const Choice& choice) : rows_(text, file), file_(file) {
    x_ = rows_.column(choice.x);
    table_.x_name = choice.x;
    for (const std::string& name : choice.values) {
      values_.push_back(rows_.column(name));
      table_.columns.push_back({name, {}});
    }
    for (const std::string& name : choice.groups) {
      by_.push_back(rows_.column(name));
    }
  }

  Table read() {
    while (rows_.next()) {
      row();
    }
    for (Column& column : table_.columns) {
      for (Curve& curve : column.curves) {
        std::sort(curve.begin(), curve.end(), [](const Point& a, const Point& b) { return a.x < b.x; });
      }
    }
    if (table_.groups.empty()) {
      scenario::fail({file_, 0, 0}, "",
                     {.problem = "No row has a value in the chosen columns.", .allowed = "at least one number"});
    }
    return std::move(table_);
  }

 private:
  void row() {
    const bool empty = std::all_of(values_.begin(), values_.end(), [&](int i) { return rows_.field(i).empty(); });
    if (empty) {
      ++table_.left_out;
      return;
    }
    const double x = x_of_row();
    const std::size_t group = group_of_row();
    for (std::size_t i = 0; i < values_.size(); ++i) {
      if (rows_.field(values_[i]).empty()) {
        continue;
      }
      Curve& curve = table_.columns[i].curves[group];
      if (std::any_of(curve.begin(), curve.end(), [&](const Point& point) { return point.x == x; })) {
        rows_.refuse(x_, "A second row of this curve has the same x.",
                     "one row for each x; name the column that tells the curves apart with --by");
      }
      curve.push_back({x, rows_.number(values_[i])});
    }
  }

  double x_of_row() {
    const auto x = parse(rows_.field(x_));
    if (!x) {
      rows_.refuse(x_, "This is neither a number nor a quantity.", "12, 400 Gbit/s, 5 us, 80 GiB");
    }
    if (table_.groups.empty()) {
      table_.x_unit = x->unit;
    } else if (x->unit != table_.x_unit) {
      rows_.refuse(x_, "This is another kind of quantity than in the rows before.",
                   table_.x_unit.empty() ? "a plain number" : fmt::format("a quantity in {}", table_.x_unit));
    }
    return x->value;
  }

  std::size_t group_of_row() {
    std::string name;
    for (const int column : by_) {
      name += fmt::format("{}{}", name.empty() ? "" : ", ", rows_.field(column));
    }
    const auto [found, is_new] = numbers_.try_emplace(name, table_.groups.size());
    if (is_new) {
      table_.groups.push_back(name);
      for (Column& column : table_.columns) {
        column.curves.emplace_back();
      }
    }
    return found->second;
  }

  trace::RowReader rows_;
  std::string file_;
  int x_ = 0;
  std::vector<int> values_;
  std::vector<int> by_;
  std::map<std::string, std::size_t> numbers_;
  Table table_;
};

}  // namespace

std::vector<std::string> column_names(std::string_view text, const std::string& file) {
  return trace::RowReader(text, file).header();
}

Table read(std::string_view text, const std::string& file, const Choice& choice) {
  return Reader(text, file, choice).read();
}

std::string quantity(double value, const std::string& unit) {
  if (unit == "s") {
    return report::seconds(value);
  }
  if (unit.empty()) {
    return report::three_digits(value);
  }
  constexpr std::array kPrefixes = {"", "k", "M", "G", "T", "P", "E"};
  constexpr double kBase = 1000;
  std::size_t prefix = 0;
  while (prefix + 1 < kPrefixes.size() && std::abs(value) >= kBase - 0.5) {
    value /= kBase;
    ++prefix;
  }
  return fmt::format("{:.3g} {}{}", value, kPrefixes[prefix], unit);
}

std::string unit_of_column(std::string_view name) {
  return name.ends_with("_s") ? "s" : "";
}

}  // namespace lamina::curves
