#include "sim/score/score.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace lamina::score {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

void take(ScoredRow& row, const Prediction& prediction) {
  row.status = prediction.status;
  row.reason = prediction.reason;
  if (row.status != Status::kScored) {
    return;
  }
  row.predicted = prediction.values;
  row.families = prediction.families;
  row.step_s = prediction.step_s;
  row.bubble_fraction = prediction.bubble_fraction;
  row.does_not_fit = prediction.does_not_fit;
}

/// The texts of the columns in which rows must agree, as one.
std::string group_of(const Score& score, const ScoredRow& row) {
  std::string group;
  for (const std::string& name : score.dataset->order_within) {
    const auto column = std::find(score.columns.begin(), score.columns.end(), name) - score.columns.begin();
    group += row.cells[static_cast<std::size_t>(column)];
    group += '\n';
  }
  return group;
}

bool is_measurement(const scenario::Dataset& dataset, const std::string& column) {
  for (const scenario::RowRule& rule : dataset.measured) {
    for (const scenario::RowValue& value : rule.alternatives) {
      if (!value.expression) {
        continue;
      }
      const auto& names = value.expression->names();
      if (std::any_of(names.begin(), names.end(), [&](const auto& name) { return name.name == column; })) {
        return true;
      }
    }
  }
  return false;
}

/// What explains the errors of one figure.
void explain(const Score& score, std::size_t figure, FigureScore& result) {
  std::vector<double> errors;
  std::vector<StepError> steps;
  for (const int index : result.worst) {
    const ScoredRow& row = score.rows[static_cast<std::size_t>(index)];
    errors.push_back(row.error(figure));
    steps.push_back({row.measured[figure], row.predicted[figure], row.families});
  }
  if (result.name == "step.time_s") {
    result.families = fit_families(steps);
  }
  for (std::size_t column = 0; column < score.columns.size(); ++column) {
    if (is_measurement(*score.dataset, score.columns[column])) {
      continue;
    }
    std::vector<std::string> cells;
    for (const int index : result.worst) {
      cells.push_back(score.rows[static_cast<std::size_t>(index)].cells[column]);
    }
    if (auto groups = errors_by(score.columns[column], cells, errors)) {
      result.columns.push_back(std::move(*groups));
    }
  }
  std::stable_sort(result.columns.begin(), result.columns.end(),
                   [](const ColumnErrors& a, const ColumnErrors& b) { return a.explained > b.explained; });
}

FigureScore figure_score(const Score& score, std::size_t figure, std::string name) {
  FigureScore result;
  result.name = std::move(name);
  std::vector<double> errors;
  std::vector<Comparison> comparisons;
  for (std::size_t i = 0; i < score.rows.size(); ++i) {
    const ScoredRow& row = score.rows[i];
    const double error = row.error(figure);
    if (std::isfinite(error)) {
      errors.push_back(error);
      comparisons.push_back({row.measured[figure], row.predicted[figure], group_of(score, row)});
      result.worst.push_back(static_cast<int>(i));
    }
  }
  const auto size_of = [&](int row) { return std::abs(score.rows[static_cast<std::size_t>(row)].error(figure)); };
  std::stable_sort(result.worst.begin(), result.worst.end(), [&](int a, int b) { return size_of(a) > size_of(b); });
  result.errors = errors_of(errors);
  result.all_pairs = pairs_of(comparisons, false);
  result.pairs_within = pairs_of(comparisons, true);
  explain(score, figure, result);
  return result;
}

}  // namespace

double ScoredRow::error(std::size_t figure) const {
  return status == Status::kScored ? relative_error(predicted[figure], measured[figure]) : kNone;
}

std::vector<std::string> figure_names(const scenario::Dataset& dataset) {
  std::vector<std::string> names;
  for (const scenario::RowRule& rule : dataset.measured) {
    names.push_back(rule.name);
  }
  return names;
}

Score score_of(std::shared_ptr<const scenario::Dataset> dataset, const std::string& table_file, PreparedTable prepared,
               const std::vector<std::optional<Prediction>>& predictions) {
  Score score;
  score.dataset = std::move(dataset);
  score.table = table_file;
  score.columns = std::move(prepared.columns);
  for (std::size_t i = 0; i < prepared.rows.size(); ++i) {
    PreparedRow& from = prepared.rows[i];
    ScoredRow row;
    row.line = from.line;
    row.status = from.status;
    row.reason = std::move(from.reason);
    row.cells = std::move(from.cells);
    row.measured = std::move(from.measured);
    row.predicted.assign(row.measured.size(), kNone);
    if (predictions[i]) {
      take(row, *predictions[i]);
    }
    ++score.counts[static_cast<std::size_t>(row.status)];
    score.does_not_fit += row.does_not_fit.empty() ? 0 : 1;
    score.rows.push_back(std::move(row));
  }
  const std::vector<std::string> names = figure_names(*score.dataset);
  for (std::size_t i = 0; i < names.size(); ++i) {
    score.figures.push_back(figure_score(score, i, names[i]));
  }
  return score;
}

}  // namespace lamina::score
