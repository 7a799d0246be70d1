#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "sim/scenario/dataset.hpp"

/// Lamina held against tables of measured runs: rows to scenarios, predictions, errors.
namespace lamina::score {

/// The measured table as text.
struct Table {
  struct Row {
    int line = 0;
    std::vector<std::string> cells;  ///< [column]
    std::string fault;               ///< why the line is no row; "": it is one
  };

  std::string file;
  std::vector<std::string> columns;  ///< as expressions write them
  std::vector<Row> rows;
};

/// A CSV text. Lines that are no rows (too few fields, an open quote, no UTF-8) are rows with a fault.
/// @throws ScenarioError for a text without header, and for columns that expressions cannot tell apart
[[nodiscard]] Table read_table(std::string_view text, const std::string& file);

/// The dataset's own rows, or those of its CSV file in `folder` ("": beside the dataset).
/// @throws ScenarioError as above, and when there is no such file
[[nodiscard]] Table open_table(const scenario::Dataset& dataset, const std::filesystem::path& folder);

}  // namespace lamina::score
