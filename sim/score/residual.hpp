#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/score/families.hpp"

namespace lamina::score {

/// What is left of the mean error of the step time when one family takes `factor` times as long in every row.
struct FamilyFit {
  std::optional<Family> family;  ///< none: the whole step
  double share = 0;              ///< of the predicted steps, mean over the rows
  double factor = 1;             ///< the best one, at least 0
  double mean_absolute = 0;      ///< error with it
};

/// Rows and their errors, as the fits need them.
struct StepError {
  double measured_s = 0;
  double predicted_s = 0;
  FamilySeconds families{};
};

/// The factor that minimises sum |p_i + (f - 1) t_i - m_i| / m_i over f >= 0: the median of 1 + (m_i - p_i) / t_i with
/// weights t_i / m_i. Families with less than 1 % of
/// the predicted steps have none.
/// @return by the error that is left, least first
[[nodiscard]] std::vector<FamilyFit> fit_families(const std::vector<StepError>& rows);

/// Rows with similar values in one column.
struct ErrorGroup {
  std::string label;  ///< "8", "1024 to 2048", "a100"
  std::size_t rows = 0;
  double median_signed = 0;
  double mean_absolute = 0;
};

struct ColumnErrors {
  std::string column;
  double explained = 0;  ///< 1 - sum |e - median of its group| / sum |e - median of all|
  std::vector<ErrorGroup> groups;
};

inline constexpr std::size_t kMostGroups = 8;  ///< values of a column that have a group each
inline constexpr std::size_t kQuantiles = 4;   ///< groups of a column of numbers with more values

/// Signed errors by the values of a column: each value of at most kMostGroups, else quarters of the rows by value.
/// Nothing for a column with one value, with a value of its own in each of few rows, or with many words.
/// @param cells, errors by row
[[nodiscard]] std::optional<ColumnErrors> errors_by(const std::string& column, const std::vector<std::string>& cells,
                                                    const std::vector<double>& errors);

}  // namespace lamina::score
