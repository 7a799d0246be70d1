#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "sim/scenario/load.hpp"

namespace lamina::cli {

/// Folders become their *.yaml files in alphabetical order; files stay as they are, in the order given.
/// @throws UsageError for a folder without scenarios, EnvironmentError for one that cannot be read
[[nodiscard]] std::vector<std::filesystem::path> expand_files(const std::vector<std::string>& arguments);

/// "key=value" each.
/// @param option that faults name
/// @throws UsageError when there is no key or no "="
[[nodiscard]] std::vector<scenario::Override> parse_overrides(const std::vector<std::string>& arguments,
                                                              const std::string& option = "--set");

/// scenario::load_file, with the scenario named in faults that lie in another file (a catalogue, a model
/// configuration).
[[nodiscard]] scenario::Scenario load_scenario(const std::filesystem::path& file,
                                               const std::filesystem::path& catalogue, const scenario::Plugins& plugins,
                                               const std::vector<scenario::Override>& overrides);

}  // namespace lamina::cli
