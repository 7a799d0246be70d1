#pragma once

#include <filesystem>
#include <string>

/// Where the tests find files. The only file that is compiled with the paths of a build: all other objects are the same
/// in every checkout, so that a compiler cache serves them.
namespace lamina::tests {

/// Root of the source tree.
[[nodiscard]] std::filesystem::path source_folder();

/// The built command.
[[nodiscard]] std::string command();

/// Reference tables and measurements beside the source tree (not in it); tests that need them skip when it is absent.
[[nodiscard]] std::filesystem::path shared_folder();

}  // namespace lamina::tests
