#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/scenario/load.hpp"
#include "sim/scenario/sweep_spec.hpp"
#include "sim/scenario/tree.hpp"

namespace lamina::scenario {

/// A key of the scenario and the value that takes its place, parsed already. The value keeps the place where it was
/// written: relative paths in it start at the scenario's folder when that is a line of a file.
struct Change {
  std::string key;  ///< dotted, or an alias
  Tree value;
};

/// Makes many scenarios from one file: schema, catalogues and file are read once, instead of once
/// for each scenario as by load_file.
class Loader {
 public:
  /// `file` is used in messages and to resolve relative paths. `overrides` hold for every scenario.
  /// @throws ScenarioError (no YAML, wrong version, faulty override, faulty catalogue), EnvironmentError
  Loader(std::string_view text, const std::filesystem::path& file, const std::filesystem::path& catalogue,
         const Plugins& plugins, const std::vector<Override>& overrides = {});
  /// The same from a scenario that stands inside another file and is parsed already. @throws as above
  Loader(Tree root, const std::filesystem::path& file, const std::filesystem::path& catalogue, const Plugins& plugins,
         const std::vector<Override>& overrides = {});
  Loader(Loader&&) noexcept;
  Loader& operator=(Loader&&) noexcept;
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;
  ~Loader();

  /// As given by the user.
  [[nodiscard]] const std::filesystem::path& file() const;

  /// The scenario with some keys changed. @throws ScenarioError
  [[nodiscard]] Scenario load(const std::vector<Change>& changes = {}) const;

  /// The scenario without the work: see load_cluster_file. @throws ScenarioError
  [[nodiscard]] Scenario load_cluster() const;

  /// What the file's `sweep:` section says; an empty SweepSpec without one. Axes of the command line replace those of
  /// the file that have the same key.
  /// @param axes, filters of the command line, as `KEY=VALUES` and as conditions
  /// @throws ScenarioError: unknown keys (with the nearest), values that the key never takes, empty or endless ranges,
  /// groups of unequal length, faulty expressions (with their column)
  [[nodiscard]] SweepSpec sweep(const std::vector<Override>& axes = {},
                                const std::vector<std::string>& filters = {}) const;

  /// Whole numbers of the model and the cluster under `changes`, by the names that expressions use.
  /// @throws ScenarioError
  [[nodiscard]] std::map<std::string, double> sizes(const std::vector<Change>& changes) const;

  /// The same for `strategy`, as the file gives them or their default; those without either are missing. Wrong values
  /// count as missing: load() reports them.
  [[nodiscard]] std::map<std::string, double> strategy_sizes() const;

  /// Files that the scenario and its sweep name beside the scenario itself (schedules, model configurations, graphs).
  [[nodiscard]] std::vector<std::filesystem::path> named_files(const SweepSpec& spec) const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

/// Overrides once more, after changes that would hide them; those of `hardware`, which a loader reads once, are left
/// out. @throws ScenarioError for a value that is no YAML
[[nodiscard]] std::vector<Change> changes_of(const std::vector<Override>& overrides);

/// Loader of a file. @throws as Loader, and when the file cannot be read
[[nodiscard]] Loader open_scenario(const std::filesystem::path& file, const std::filesystem::path& catalogue,
                                   const Plugins& plugins, const std::vector<Override>& overrides = {});

}  // namespace lamina::scenario
