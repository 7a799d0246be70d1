#pragma once

#include <string>
#include <string_view>
#include <vector>

/// Columns of a CSV table as curves: which layout is faster on which network, measured and predicted.
namespace lamina::curves {

struct Point {
  double x = 0;
  double y = 0;
};

/// Ascending in x, each once.
using Curve = std::vector<Point>;

/// One column of values: a curve for each group of rows.
struct Column {
  std::string name;
  std::vector<Curve> curves;  ///< [group]; empty where a group has no value
};

struct Table {
  std::string x_name;
  std::string x_unit;               ///< "bit/s", "B", ...; "" for plain numbers
  std::vector<std::string> groups;  ///< the texts of the grouping columns, in order of appearance
  std::vector<Column> columns;
  int left_out = 0;  ///< rows without any of the values, as those of failed points of a sweep
};

/// Names of columns.
struct Choice {
  std::string x;
  std::vector<std::string> values;
  std::vector<std::string> groups;  ///< none: all rows are one group
};

/// Names of a table's columns.
/// @throws ScenarioError for a text without header
[[nodiscard]] std::vector<std::string> column_names(std::string_view text, const std::string& file);

/// Reads a table of `lamina sweep`, of a benchmark, or any other with a header (RFC 4180). x: plain numbers, or
/// quantities with one unit ("400 Gbit/s"). Values: plain numbers, or nothing.
/// @pre the chosen columns exist
/// @throws ScenarioError with line and column for what is no number, for x of different kinds, for two values of one
/// curve at one x, and for a table without any value
[[nodiscard]] Table read(std::string_view text, const std::string& file, const Choice& choice);

/// "2.5 Gbit/s", "1.50 s", "12".
[[nodiscard]] std::string quantity(double value, const std::string& unit);

/// "s" for columns whose names say seconds, as ours do: "step_time_s".
[[nodiscard]] std::string unit_of_column(std::string_view name);

}  // namespace lamina::curves
