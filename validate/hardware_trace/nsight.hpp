#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "validate/hardware_trace/builder.hpp"
#include "validate/hardware_trace/trace.hpp"

namespace lamina::validate::hardware_trace {

/// First bytes of a SQLite file (https://www.sqlite.org/fileformat.html).
inline constexpr std::string_view kSqliteHead = "SQLite format 3";

/// Reads an export of Nsight Systems (`nsys export --type sqlite`): kernels, copies, launches and ranges of one process
/// and device become one RankTrace. Tables are made when something was recorded, and columns differ between versions:
/// what is there is asked first. Dates are shifted by the session's start (UTC) where the export has it.
/// @throws ScenarioError with file, table and row: damaged, dates missing or reversed, no kernel table
[[nodiscard]] std::vector<RankTrace> read_nsight(const std::filesystem::path& file, Limits limits = {});

/// The same for a file's bytes.
[[nodiscard]] std::vector<RankTrace> read_nsight_bytes(std::string_view bytes, const std::string& file, Limits limits);

}  // namespace lamina::validate::hardware_trace
