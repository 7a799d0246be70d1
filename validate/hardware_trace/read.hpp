#pragma once

#include <filesystem>
#include <vector>

#include "validate/hardware_trace/byte_source.hpp"
#include "validate/hardware_trace/trace.hpp"

namespace lamina::validate::hardware_trace {

/// The ranks of a trace file, told apart by its first bytes, whatever its name:
///  - PyTorch profiler (Chrome JSON), plain or gzip: one rank;
///  - a tar archive of such files, plain or gzip: one rank per member, by member name;
///  - Nsight Systems export (SQLite): one rank per process and device;
///  - a timeline of Lamina (NAME.perfetto-trace): one per process of it;
///  - events that `lamina trace import -o` wrote: what it had read.
/// @throws ScenarioError for anything else, with a word on what it is where that can be told
[[nodiscard]] std::vector<RankTrace> read_file(const std::filesystem::path& file);

/// The same for text and binary formats that come as a stream (all but SQLite).
[[nodiscard]] std::vector<RankTrace> read_stream(ByteSource& source);

/// Every file's ranks, in order; ranks that none names are numbered where nothing contradicts.
/// @throws ScenarioError also when two traces are of one rank
[[nodiscard]] std::vector<RankTrace> read_files(const std::vector<std::filesystem::path>& files);

}  // namespace lamina::validate::hardware_trace
