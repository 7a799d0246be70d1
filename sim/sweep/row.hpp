#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/pipeline/coarse.hpp"
#include "sim/report/report.hpp"

namespace lamina::sweep {

enum class Status {
  kOk,
  kDoesNotFit,  ///< runs, but needs more memory than there is
  kInfeasible,  ///< valid, but cannot run: does not divide, too large
  kInvalid,     ///< the values make no scenario
  kFailed,      ///< the process that worked on it died, or Lamina has a fault
};

inline constexpr int kStatuses = 5;

[[nodiscard]] std::string_view word_for(Status status);  ///< "does_not_fit"

/// A column of the table that comes out of a report.
struct Figure {
  std::string name;  ///< with its unit: "step_time_s"
  bool larger_is_better = false;
};

/// All of them, in the order of the table.
[[nodiscard]] const std::vector<Figure>& figures();

/// Index into figures(); nothing for a name that is none.
[[nodiscard]] std::optional<std::size_t> figure_named(std::string_view name);

/// Their values; NaN where a report says nothing.
[[nodiscard]] std::vector<double> figures_of(const report::Report& report);

/// The same of an estimate; NaN where it says nothing.
[[nodiscard]] std::vector<double> figures_of(const pipeline::CoarseEstimate& estimate,
                                             const scenario::Scenario& scenario);

/// Whether estimates say something about a figure.
[[nodiscard]] bool is_estimated(std::size_t figure);

/// One evaluated point.
struct Row {
  std::int64_t point = 0;
  bool coarse = false;  ///< of the first pass of --refine, without contention
  Status status = Status::kOk;
  std::string reason;          ///< why it is not ok
  std::string transport;       ///< "simgrid", "no_contention"; empty without a replay
  std::vector<double> values;  ///< as figures(); empty without a replay
};

/// What a point is beside its figures.
struct RowHead {
  std::vector<std::string> keys;   ///< of the grid
  std::vector<std::string> texts;  ///< their values at this point
};

/// One line of JSON, without line end: point, the keys, status, reason, transport, figures. Numbers read back exactly.
[[nodiscard]] std::string to_json_line(const Row& row, const RowHead& head);

/// Reads what to_json_line wrote; nothing when the text is something else.
[[nodiscard]] std::optional<Row> row_from_json(std::string_view line);

[[nodiscard]] std::string csv_head(const std::vector<std::string>& keys);
[[nodiscard]] std::string to_csv_line(const Row& row, const RowHead& head);

}  // namespace lamina::sweep
