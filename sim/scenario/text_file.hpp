#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace lamina::scenario {

/// Whole content of a file.
/// @throws ScenarioError: no such file (with the nearest name in its folder), a folder, larger than `limit` bytes;
///   EnvironmentError: exists but cannot be read
[[nodiscard]] std::string read_text_file(const std::filesystem::path& file, std::size_t limit);

/// Throws ScenarioError, with line and column, at the first byte that is no text: invalid UTF-8, NUL or another control
/// character except tab and line ends.
void check_text(std::string_view text, const std::string& source);

}  // namespace lamina::scenario
