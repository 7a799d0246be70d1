#pragma once

#include <filesystem>
#include <string>

namespace lamina::trace {

/// Whole content of a file, unpacked when it starts as gzip files do.
/// @throws ScenarioError: no such file, a folder, compressed data that is damaged or ends early, more than 4 GiB
/// @throws EnvironmentError: cannot be read
[[nodiscard]] std::string read_unpacked(const std::filesystem::path& file);

/// `data`, unpacked when it starts as gzip files do (RFC 1952; several members are one text); `file` is used in
/// messages.
[[nodiscard]] std::string unpack(std::string data, const std::string& file, std::size_t limit);

}  // namespace lamina::trace
