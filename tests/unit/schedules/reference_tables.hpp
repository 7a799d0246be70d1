#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "schedules/schedule.hpp"
#include "tests/support/paths.hpp"

/// Reference schedule tables and replay results that lie beside the source tree (not in it): outputs of the generators
/// of PyTorch, Megatron-LM, Fast-LLM, sail-sg and DeepSeek. Tests skip when they are absent.
namespace lamina::schedules::testing {

struct ReferenceTable {
  std::string file;      ///< in compute/
  std::string schedule;  ///< ours
  int ranks = 0;
  int micro_batches = 0;
  int chunks = 0;  ///< per rank
  catalog::Parameters parameters;
};

inline std::filesystem::path reference_folder() {
  return tests::shared_folder() / "reference" / "schedules";
}

/// "loopedbfs_p4_m8_v2.csv" of a schedule we have; an empty `schedule` otherwise. Chunks are one layer each.
inline ReferenceTable parse_name(const std::string& file) {
  static const std::map<std::string, std::string> kNames = {{"gpipe", "gpipe"},
                                                            {"1f1b", "one_forward_one_backward"},
                                                            {"loopedbfs", "layered_modular"},
                                                            {"bfs_asc", "layered_modular"},
                                                            {"interleaved1f1b", "interleaved"},
                                                            {"megatronvpp", "interleaved"},
                                                            {"bfsdf", "hybrid"},
                                                            {"zbh1", "zero_bubble_h1"},
                                                            {"zbh2", "zero_bubble_h2"},
                                                            {"zbv", "zero_bubble_v"},
                                                            {"interleavedzb", "interleaved_zero_bubble"},
                                                            {"vhalf", "v_half"},
                                                            {"vmin", "v_min"},
                                                            {"dualpipe", "dual_pipe"},
                                                            {"dualpipev", "dual_pipe_v"}};
  ReferenceTable result;
  result.file = file;
  const std::size_t size = file.rfind("_p");
  std::string name = file.substr(0, size);
  std::istringstream numbers(file.substr(size));
  numbers.ignore(2) >> result.ranks;
  numbers.ignore(2) >> result.micro_batches;
  numbers.ignore(2) >> result.chunks;
  if (name.starts_with("megatronvpp_g")) {
    result.parameters.set_number("micro_batch_group_size", std::stod(name.substr(13)));
    name = "megatronvpp";
  } else if (name.starts_with("bfsdf")) {
    result.parameters.set_number("breadth_first_micro_batches", std::stod(name.substr(5)));
    name = "bfsdf";
  } else if (name.starts_with("interleaved")) {
    result.parameters.set_number("micro_batch_group_size", 0);
  } else if (name == "loopedbfs" || name == "bfs_asc") {
    result.parameters.set_choice("backward_order", name == "bfs_asc" ? "ascending" : "descending");
  }
  result.parameters.set_number("layers_per_chunk", 1);
  const auto found = kNames.find(name);
  result.schedule = found == kNames.end() ? "" : found->second;
  return result;
}

/// The tables of our schedules, sorted by file name; empty when the folder is absent.
inline std::vector<ReferenceTable> reference_tables() {
  std::map<std::string, ReferenceTable> sorted;
  std::error_code absent;
  for (const auto& entry : std::filesystem::directory_iterator(reference_folder() / "compute", absent)) {
    ReferenceTable table = parse_name(entry.path().filename().string());
    if (!table.schedule.empty()) {
      sorted[table.file] = table;
    }
  }
  std::vector<ReferenceTable> result;
  for (auto& [file, table] : sorted) {
    result.push_back(table);
  }
  return result;
}

inline std::vector<std::vector<std::string>> read_csv(const std::filesystem::path& path) {
  std::vector<std::vector<std::string>> rows;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line.back() == '\r') {
      line.pop_back();
    }
    std::vector<std::string> cells;
    std::istringstream stream(line);
    for (std::string cell; std::getline(stream, cell, ',');) {
      cells.push_back(cell);
    }
    rows.push_back(cells);
  }
  return rows;
}

/// expected.csv by table, each row by column.
inline std::map<std::string, std::map<std::string, std::string>> expected_results() {
  const auto rows = read_csv(reference_folder() / "expected.csv");
  std::map<std::string, std::map<std::string, std::string>> result;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    for (std::size_t column = 0; column < rows[i].size(); ++column) {
      result[rows[i][0]][rows[0][column]] = rows[i][column];
    }
  }
  return result;
}

/// The request for the reference table.
inline ScheduleRequest request_for(const ReferenceTable& table) {
  return {table.ranks, table.micro_batches, table.ranks * table.chunks, table.parameters};
}

}  // namespace lamina::schedules::testing
