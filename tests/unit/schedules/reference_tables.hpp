#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "schedules/schedule.hpp"

/// Reference schedule tables and replay results that lie beside the source tree (not in it): outputs of PyTorch's and
/// Fast-LLM's generators. Tests skip when they are absent.
namespace lamina::schedules::testing {

struct ReferenceTable {
  std::string file;            ///< in compute/
  std::string schedule;        ///< ours
  std::string backward_order;  ///< layered_modular only
  int ranks = 0;
  int micro_batches = 0;
  int chunks = 0;  ///< per rank
};

inline std::filesystem::path reference_folder() {
  return std::filesystem::path(LAMINA_SOURCE_DIR).parent_path() / "shared" / "reference" / "schedules";
}

/// "loopedbfs_p4_m8_v2.csv" of a schedule we have; an empty `schedule` otherwise.
inline ReferenceTable parse_name(const std::string& file) {
  static const std::map<std::string, std::pair<std::string, std::string>> kNames = {
      {"gpipe", {"gpipe", ""}},
      {"1f1b", {"one_forward_one_backward", ""}},
      {"loopedbfs", {"layered_modular", "descending"}},
      {"bfs_asc", {"layered_modular", "ascending"}}};
  ReferenceTable result;
  result.file = file;
  const std::size_t size = file.rfind("_p");
  const auto found = kNames.find(file.substr(0, size));
  if (found == kNames.end()) {
    return result;
  }
  result.schedule = found->second.first;
  result.backward_order = found->second.second;
  std::istringstream numbers(file.substr(size));
  numbers.ignore(2) >> result.ranks;
  numbers.ignore(2) >> result.micro_batches;
  numbers.ignore(2) >> result.chunks;
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

/// The request for the reference table: one layer per chunk.
inline ScheduleRequest request_for(const ReferenceTable& table) {
  ScheduleRequest request;
  request.pipeline_parallel = table.ranks;
  request.micro_batches = table.micro_batches;
  request.layers = table.ranks * table.chunks;
  if (!table.backward_order.empty()) {
    request.parameters.set_number("layers_per_chunk", 1);
    request.parameters.set_choice("backward_order", table.backward_order);
  }
  return request;
}

}  // namespace lamina::schedules::testing
