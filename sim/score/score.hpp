#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/score/predict.hpp"
#include "sim/score/residual.hpp"
#include "sim/score/statistics.hpp"

namespace lamina::score {

/// One row of the table, with everything that is known of it.
struct ScoredRow {
  int line = 0;
  Status status = Status::kScored;
  std::string reason;              ///< why it is not scored
  std::vector<std::string> cells;  ///< as Score::columns
  std::vector<double> measured;    ///< as Score::figures; NaN: not measured
  std::vector<double> predicted;   ///< the same; NaN: no prediction
  FamilySeconds families{};
  double step_s = 0;
  double bubble_fraction = 0;
  std::string does_not_fit;  ///< why Lamina says that the run cannot fit into memory

  /// Of figure `figure`; NaN when it was not measured or not predicted.
  [[nodiscard]] double error(std::size_t figure) const;
};

struct FigureScore {
  std::string name;  ///< "step.time_s"
  Errors errors;
  Pairs all_pairs;
  Pairs pairs_within;                 ///< of rows that agree in the dataset's `order_within`
  std::vector<FamilyFit> families;    ///< of "step.time_s" only
  std::vector<ColumnErrors> columns;  ///< those that explain most first; no columns that say what was measured
  std::vector<int> worst;             ///< rows by the size of their error, largest first: all that have one
};

struct Score {
  std::shared_ptr<const scenario::Dataset> dataset;
  std::string table;                 ///< file of the table
  std::vector<std::string> columns;  ///< of the table, then the dataset's own
  std::vector<ScoredRow> rows;
  std::vector<FigureScore> figures;
  std::array<int, kStatuses> counts{};
  int does_not_fit = 0;  ///< scored rows that ran, and that Lamina says do not fit

  [[nodiscard]] int count(Status status) const { return counts[static_cast<std::size_t>(status)]; }
};

/// Names of the dataset's `measured`.
[[nodiscard]] std::vector<std::string> figure_names(const scenario::Dataset& dataset);

[[nodiscard]] Score score_of(std::shared_ptr<const scenario::Dataset> dataset, const std::string& table_file,
                             PreparedTable prepared, const std::vector<std::optional<Prediction>>& predictions);

}  // namespace lamina::score
