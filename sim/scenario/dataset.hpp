#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/scenario/load.hpp"
#include "sim/scenario/schema.hpp"
#include "sim/scenario/sweep_spec.hpp"
#include "sim/scenario/tree.hpp"

/// A table of measured runs and what its columns mean: the file that `lamina score` reads.
namespace lamina::scenario {

/// A value at one row of the table: a constant, an expression over columns, or an entry of a table of its own.
struct RowValue {
  std::optional<Filter> when;            ///< none: at every row
  Tree constant;                         ///< when there is no expression
  std::optional<Expression> expression;  ///< of the value, or with `entries` of what is looked up
  std::vector<std::pair<std::string, Tree>> entries;
  Position position;
};

/// The first alternative whose condition holds counts; none: the row has no such value.
struct RowRule {
  std::string name;  ///< column, scenario key (full) or figure of the report
  std::vector<RowValue> alternatives;
  Position position;
  ValueKind kind = ValueKind::kText;  ///< of a scenario key
};

struct IncompleteRule {
  Filter when;
  std::string reason;
};

/// What others published about the same rows.
struct Peer {
  std::string name;
  double mean_absolute_error = 0;
  std::string source;
};

struct InlineRow {
  std::vector<std::pair<std::string, std::string>> cells;
  int line = 0;
};

struct Dataset {
  std::filesystem::path file;
  std::string name;
  std::string summary;
  std::string source;
  std::string data;              ///< name of the CSV file; "": the rows stand in this file
  std::vector<InlineRow> rows;   ///< without `data`
  std::string tuned;             ///< which constants were tuned on these rows
  std::optional<double> target;  ///< of the first figure's mean error, as a fraction
  std::vector<Peer> peers;
  std::vector<std::string> order_within;
  Position order_position;
  std::vector<std::string> causes;
  std::vector<RowRule> columns;
  Tree scenario;
  std::vector<RowRule> keys;
  std::vector<RowRule> measured;
  std::vector<Filter> where;
  std::vector<IncompleteRule> incomplete;
};

/// @param plugins for the names of scenario keys
/// @param figures names that `measured` may use
/// @throws ScenarioError: unknown keys (with the nearest), wrong kinds, faulty expressions (with their column)
[[nodiscard]] Dataset read_dataset(std::string_view text, const std::filesystem::path& file, const Plugins& plugins,
                                   const std::vector<std::string>& figures);

/// Every name that an expression of the dataset uses must be a column of the table or derived before it.
/// @param columns of the table
/// @param filters further conditions, as of --rows
/// @throws ScenarioError with the nearest name
void check_columns(const Dataset& dataset, const std::vector<std::string>& columns, const std::vector<Filter>& filters);

/// A condition over the columns of a table, as of `--rows`. @throws ScenarioError for a faulty expression
[[nodiscard]] Filter parse_condition(const std::string& text, const Position& position, const std::string& path);

/// A name as expressions write it: letters and digits stay, runs of other characters become one `_`, those at the ends
/// go: "Throughput_(T/s)" is "Throughput_T_s".
[[nodiscard]] std::string column_identifier(std::string_view header);

/// The tables of keys in docs/score.md (Markdown).
[[nodiscard]] std::string describe_dataset();

}  // namespace lamina::scenario
