#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace lamina::architecture {

/// One C++ file of the repository, comments removed (line numbers kept).
struct Source {
  std::filesystem::path path;  ///< relative to the repository root
  std::string room;            ///< "scenario" for sim/scenario/..., "schedules" for schedules/..., "tests"
  std::vector<std::string> raw_lines;
  std::vector<std::string> code_lines;
};

/// One #include of a source file.
struct Include {
  std::string target;  ///< as written, without quotes or brackets
  bool quoted = false;
  int line = 0;
};

/// All .hpp and .cpp files below the given top folders, sorted by path.
[[nodiscard]] std::vector<Source> read_sources(const std::vector<std::string>& top_folders);

[[nodiscard]] std::vector<Include> includes_of(const Source& source);

/// "sim/x/y.cpp:12"
[[nodiscard]] std::string place(const Source& source, std::size_t line);

}  // namespace lamina::architecture
