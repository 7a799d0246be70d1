#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sim/scenario/load.hpp"
#include "sim/scenario/schema.hpp"
#include "sim/scenario/tree.hpp"

namespace lamina::scenario {

/// The YAML catalogues. A file holds mappings named after the kinds in the plural:
///
///     accelerators:
///       a100-sxm-80gb: {summary: ..., source: ..., memory: 80 GiB, ...}
///
/// and models may also come from a family (`families: {"x<N>": {summary, source}}`), whose members are computed here.
class Catalogue {
 public:
  /// Reads every *.yaml file of the two folders. @throws ScenarioError (a faulty file), EnvironmentError (no folder)
  Catalogue(const std::filesystem::path& folder, const Schema& schema);

  /// Adds the entries of a file of the scenario's own. It holds the same mappings as a hardware file of the catalogue,
  /// and may hold `calibration:` (how they were measured), which is passed over.
  /// @throws ScenarioError: no such file, a faulty one, a name that the catalogue has already; EnvironmentError
  void add_hardware_file(const std::filesystem::path& file);

  /// Replaces a name, or a mapping with `base:`, by the whole definition: a mapping without `base`, whose `name` and
  /// `source` say whether it was changed. Nested references stay as they are.
  /// @param kind a CatalogueKind::kind
  /// @param path key path for messages
  /// @throws ScenarioError: unknown name (with the nearest), wrong type, entries that refer to each other in a circle
  [[nodiscard]] Tree resolve(std::string_view kind, Tree value, const std::string& path) const;

  /// Sorted by kind and name.
  [[nodiscard]] std::vector<CatalogueEntry> list() const;

 private:
  void read_file(const Tree& root, std::string_view folder, const std::vector<std::string>& passed_over);
  void add_entry(std::string_view kind, const TreeEntry& entry);
  [[nodiscard]] Tree entry(std::string_view kind, const Tree& name, const std::string& path) const;
  [[nodiscard]] Tree resolve(std::string_view kind, Tree value, const std::string& path, int depth) const;

  const Schema& schema_;
  std::map<std::string, std::map<std::string, Tree, std::less<>>, std::less<>>
      entries_;  ///< kind -> name -> definition
  std::map<std::string, Tree> families_;
};

/// X_N of arXiv 2106.02679, section 3 of the family's description: N layers of width N^2, sequences of 16 N tokens, 12
/// N^5 parameters; embeddings and biases are left out, as the analysis does. N/2 heads of size 2 N (N heads of size N
/// when N is odd). `name` is "x<N>"; false when it is not, or N is not in 1 to 1000.
[[nodiscard]] bool make_family_member(const std::string& name, const Position& position, Tree& model);

}  // namespace lamina::scenario
