#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sim/catalog/parameters.hpp"
#include "sim/scenario/load.hpp"

namespace lamina::cli {

/// Which plug-ins an option of the command line names.
struct ChoiceKind {
  const char* option;   ///< "--schedules"
  const char* word;     ///< "schedule"
  const char* key;      ///< of the scenario: "strategy.schedule"
  const char* example;  ///< "gpipe,interleaved:group_size=8"
};

inline constexpr ChoiceKind kScheduleChoices = {"--schedules", "schedule", "strategy.schedule",
                                                "gpipe,interleaved:group_size=8"};
inline constexpr ChoiceKind kTopologyChoices = {"--topologies", "topology", "cluster.topology",
                                                "rail_optimized,fat_tree:radix=64"};

/// A plug-in asked for on the command line.
struct PluginChoice {
  std::string label;   ///< as typed: "interleaved:group_size=8"
  std::string name;    ///< of the plug-in
  std::string chosen;  ///< name and whole parameter names
  bool has_parameters = false;
  std::string key;  ///< of the scenario

  /// What puts it into a scenario.
  [[nodiscard]] scenario::Override as_override() const;

  std::vector<std::pair<std::string, std::string>> parameters;
};

/// "a,b:x=1:y=2" and "all" (every plug-in with its usual parameters), possibly in several arguments; what is named
/// twice stands once. A parameter may be written without its first words ("group_size" for "micro_batch_group_size").
/// @throws UsageError for an unknown plug-in or parameter, with what is known and the nearest name
[[nodiscard]] std::vector<PluginChoice> parse_choices(const ChoiceKind& kind, const std::vector<std::string>& arguments,
                                                      const std::vector<catalog::PluginInfo>& known);

/// All plug-ins with their usual parameters.
[[nodiscard]] std::vector<PluginChoice> every_choice(const ChoiceKind& kind,
                                                     const std::vector<catalog::PluginInfo>& known);

}  // namespace lamina::cli
