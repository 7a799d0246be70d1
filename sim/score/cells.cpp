#include "sim/score/cells.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/report/format.hpp"
#include "sim/report/text.hpp"

namespace lamina::score {
namespace {

constexpr std::size_t kShownColumns = 80;  ///< of a cell; documents have it whole

bool same_groups(const ColumnErrors& a, const ColumnErrors& b) {
  return std::equal(a.groups.begin(), a.groups.end(), b.groups.begin(), b.groups.end(),
                    [](const ErrorGroup& left, const ErrorGroup& right) {
                      return left.rows == right.rows && left.median_signed == right.median_signed;
                    });
}

}  // namespace

std::string target_text(const Score& score) {
  if (!score.dataset->target) {
    return "";
  }
  const bool met = score.figures.front().errors.mean_absolute <= *score.dataset->target;
  return fmt::format("{} ({})", report::percent(*score.dataset->target), met ? "met" : "missed");
}

std::vector<std::size_t> varying_columns(const Score& score) {
  std::vector<std::size_t> columns;
  for (std::size_t column = 0; column < score.columns.size(); ++column) {
    const ScoredRow* first = nullptr;
    const auto differs = [&](const ScoredRow& row) {
      if (row.status != Status::kScored) {
        return false;
      }
      first = first == nullptr ? &row : first;
      return row.cells[column] != first->cells[column];
    };
    if (std::any_of(score.rows.begin(), score.rows.end(), differs)) {
      columns.push_back(column);
    }
  }
  return columns;
}

std::string cells_text(const Score& score, const ScoredRow& row, const std::vector<std::size_t>& columns) {
  std::string text;
  for (const std::size_t column : columns) {
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", score.columns[column],
                        report::truncate(report::printable(row.cells[column]), kShownColumns));
  }
  return text;
}

std::vector<NamedColumn> leading_columns(const FigureScore& figure, std::size_t most) {
  std::vector<NamedColumn> leading;
  for (const ColumnErrors& column : figure.columns) {
    if (!leading.empty() && same_groups(*leading.back().column, column)) {
      leading.back().names += ", " + column.column;
    } else if (leading.size() < most) {
      leading.push_back({column.column, &column});
    } else {
      break;
    }
  }
  return leading;
}

}  // namespace lamina::score
