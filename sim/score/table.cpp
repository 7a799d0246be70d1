#include "sim/score/table.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "sim/scenario/fault.hpp"
#include "sim/scenario/text_file.hpp"
#include "sim/sweep/fault_text.hpp"
#include "sim/trace/row_reader.hpp"

namespace lamina::score {
namespace {

constexpr std::size_t kLargestTable = std::size_t{64} << 20;

std::vector<std::string> identifiers(const std::vector<std::string>& header, const std::string& file) {
  std::vector<std::string> columns;
  for (const std::string& name : header) {
    scenario::check_text(name, file);
    std::string column = scenario::column_identifier(name);
    if (column.empty() || std::find(columns.begin(), columns.end(), column) != columns.end()) {
      scenario::fail({file, 0, 0}, "",
                     {column.empty() ? "A column has no name." : "Two columns have the same name in expressions.", name,
                      "names that differ in letters or digits"});
    }
    columns.push_back(std::move(column));
  }
  return columns;
}

void fill(Table::Row& row, const trace::RowReader& reader, const std::string& file) {
  row.line = reader.line_number();
  for (std::size_t i = 0; i < reader.header().size(); ++i) {
    const std::string_view text = reader.field(static_cast<int>(i));
    scenario::check_text(text, file);
    row.cells.emplace_back(text);
  }
}

}  // namespace

Table read_table(std::string_view text, const std::string& file) {
  trace::RowReader reader(text, file);
  Table table{file, identifiers(reader.header(), file), {}};
  for (bool more = true; more;) {
    Table::Row row;
    try {
      more = reader.next();
      if (!more) {
        break;
      }
      fill(row, reader, file);
    } catch (const error::ScenarioError& fault) {
      row.line = reader.line_number();
      row.cells.clear();
      row.fault = sweep::short_text(fault.fault());
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table open_table(const scenario::Dataset& dataset, const std::filesystem::path& folder) {
  if (!dataset.data.empty()) {
    const std::filesystem::path file = (folder.empty() ? dataset.file.parent_path() : folder) / dataset.data;
    return read_table(scenario::read_text_file(file, kLargestTable), file.string());
  }
  std::vector<std::string> header;
  for (const scenario::InlineRow& row : dataset.rows) {
    for (const auto& [name, text] : row.cells) {
      if (std::find(header.begin(), header.end(), name) == header.end()) {
        header.push_back(name);
      }
    }
  }
  Table table{dataset.file.string(), identifiers(header, dataset.file.string()), {}};
  for (const scenario::InlineRow& inline_row : dataset.rows) {
    Table::Row row{inline_row.line, std::vector<std::string>(header.size()), ""};
    for (const auto& [name, text] : inline_row.cells) {
      row.cells[static_cast<std::size_t>(std::find(header.begin(), header.end(), name) - header.begin())] = text;
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace lamina::score
