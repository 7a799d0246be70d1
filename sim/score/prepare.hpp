#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/scenario/dataset.hpp"
#include "sim/scenario/loader.hpp"
#include "sim/score/table.hpp"

namespace lamina::score {

enum class Status {
  kScored,
  kOutside,     ///< the dataset's conditions, or --rows, leave it out
  kIncomplete,  ///< the dataset says what is missing
  kMalformed,   ///< no row, or its values make no scenario
  kInfeasible,  ///< valid, but Lamina cannot run it
  kFailed,      ///< the process that worked on it died, or Lamina has a fault
};

inline constexpr int kStatuses = 6;

[[nodiscard]] std::string_view word_for(Status status);  ///< "incomplete"

/// A row before it is simulated.
struct PreparedRow {
  int line = 0;
  Status status = Status::kScored;
  std::string reason;              ///< why it is not scored
  std::vector<std::string> cells;  ///< of the table, then of the dataset's own columns
  std::vector<scenario::Change> changes;
  std::vector<double> measured;  ///< as the dataset's `measured`; NaN: not measured
};

struct PreparedTable {
  std::vector<std::string> columns;  ///< of the table, then the dataset's own
  std::vector<PreparedRow> rows;
};

/// Evaluates the dataset's columns, conditions and keys at every row. Faults of a row stay in the row.
/// @param filters further conditions, as of --rows; their names are checked
/// @throws ScenarioError: an expression names a column that is not there
[[nodiscard]] PreparedTable prepare(const scenario::Dataset& dataset, const Table& table,
                                    const std::vector<scenario::Filter>& filters);

}  // namespace lamina::score
