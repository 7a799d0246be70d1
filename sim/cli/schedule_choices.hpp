#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sim/catalog/parameters.hpp"
#include "sim/scenario/load.hpp"

namespace lamina::cli {

/// A schedule asked for on the command line.
struct ScheduleChoice {
  std::string label;     ///< as typed: "interleaved:group_size=8"
  std::string name;      ///< of the plug-in
  std::string schedule;  ///< name and whole parameter names
  bool has_parameters = false;

  /// What puts it into a scenario.
  [[nodiscard]] scenario::Override as_override() const;

  std::vector<std::pair<std::string, std::string>> parameters;
};

/// "a,b:x=1:y=2" and "all" (every schedule with its usual parameters), possibly in several arguments; what is named
/// twice stands once. A parameter may be written without its first words ("group_size" for "micro_batch_group_size").
/// @throws UsageError for an unknown schedule or parameter, with what is known and the nearest name
[[nodiscard]] std::vector<ScheduleChoice> parse_schedules(const std::vector<std::string>& arguments,
                                                          const std::vector<catalog::PluginInfo>& known);

/// All schedules with their usual parameters.
[[nodiscard]] std::vector<ScheduleChoice> every_schedule(const std::vector<catalog::PluginInfo>& known);

}  // namespace lamina::cli
