#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "sim/score/score.hpp"

namespace lamina::score {

/// "8.0 % (met)": the target of the first figure's mean error; "": the dataset has none.
[[nodiscard]] std::string target_text(const Score& score);

/// Columns, by index, in which the scored rows differ.
[[nodiscard]] std::vector<std::size_t> varying_columns(const Score& score);

/// "gpus=8 tp=2": what tells the row from others, printable.
[[nodiscard]] std::string cells_text(const Score& score, const ScoredRow& row, const std::vector<std::size_t>& columns);

/// A column, and the names of those after it that divide the rows alike ("tp, gpus").
struct NamedColumn {
  std::string names;
  const ColumnErrors* column = nullptr;
};

/// At most `most`, those that explain most first.
[[nodiscard]] std::vector<NamedColumn> leading_columns(const FigureScore& figure, std::size_t most);

}  // namespace lamina::score
