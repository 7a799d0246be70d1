#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "sim/catalog/parameters.hpp"
#include "sim/scenario/scenario.hpp"

namespace lamina::scenario {

/// What the loader must know of the plug-ins to check names and parameters.
struct Plugins {
  std::vector<catalog::PluginInfo> schedules;
  std::vector<catalog::PluginInfo> topologies;
  std::vector<catalog::PluginInfo> cost_models;
  std::vector<catalog::PluginInfo> collectives;
};

/// One `--set key=value`: a dotted key path and YAML text.
struct Override {
  std::string key;
  std::string value;
  std::string option = "--set";  ///< under which it was given, for messages
};

/// One named thing of the YAML catalogues (scenarios/models, scenarios/hardware).
struct CatalogueEntry {
  std::string kind;  ///< "model", "accelerator", "device_link", "host_path", "network", "node"
  std::string name;
  std::string summary;
  std::string source;
};

/// Folder with `models/` and `hardware/`: $LAMINA_CATALOGUE, or beside the executable (installed: ../share/lamina), or the
/// source tree. Throws EnvironmentError, naming all folders tried, if none exists.
[[nodiscard]] std::filesystem::path find_catalogue();

/// Reads, checks and resolves one scenario file.
/// @throws ScenarioError (unknown key, wrong unit, ...), EnvironmentError (unreadable file)
[[nodiscard]] Scenario load_file(const std::filesystem::path& file, const std::filesystem::path& catalogue,
                                 const Plugins& plugins, const std::vector<Override>& overrides = {});

/// The same from text; `file` is used in messages and to resolve relative paths (`hugging_face: config.json`).
[[nodiscard]] Scenario load_text(std::string_view text, const std::filesystem::path& file,
                                 const std::filesystem::path& catalogue, const Plugins& plugins,
                                 const std::vector<Override>& overrides = {});

/// Name, description, cluster, simulation and disturbances of a scenario file, for work that comes from elsewhere (a
/// trace): model and strategy may be missing, and nothing else is read if it is there.
/// @throws ScenarioError, EnvironmentError as load_file
[[nodiscard]] Scenario load_cluster_file(const std::filesystem::path& file, const std::filesystem::path& catalogue,
                                         const Plugins& plugins, const std::vector<Override>& overrides = {});

/// Everything `lamina list models|hardware` shows, sorted by kind and name.
[[nodiscard]] std::vector<CatalogueEntry> list_catalogue(const std::filesystem::path& catalogue);

/// docs/scenario.md, generated from the schema table and the plug-ins' parameters (Markdown).
[[nodiscard]] std::string describe_schema(const Plugins& plugins);

}  // namespace lamina::scenario
