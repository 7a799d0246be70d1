#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/catalog/parameters.hpp"
#include "sim/scenario/load.hpp"

/// The one table of all scenario keys. The reader takes kinds, defaults and ranges from it, errors name its keys, and
/// docs/scenario.md is printed from it; a key that is not in the table cannot be read.
namespace lamina::scenario {

enum class ValueKind {
  kText,
  kInteger,
  kNumber,
  kBoolean,
  kChoice,
  kFile,  ///< path of a file
  kSeconds,
  kBytes,
  kBytesPerSecond,
  kFlops,
  kFlopsPerSecond,
  kSection,    ///< a mapping described by another section, or that section's shorthand
  kReference,  ///< a name in a YAML catalogue, a mapping with `base:` and changes, or a whole definition
  kPlugin,     ///< the name of a plug-in, or a mapping with `name:` and its parameters
  kNameList,   ///< a list of words
  /// A list of mappings. Without `choices` each is described by the section `target`; with them, by the section
  /// "`target` KIND", where KIND is one of the choices, given by the item's own key `kind`.
  kItems,
  kValues,  ///< any dotted names: published figures
};

struct KeySpec {
  std::string name;
  ValueKind kind = ValueKind::kText;
  std::string help;           ///< one or two sentences, Markdown
  bool required = false;      ///< always; what is required under a condition says so in `default_text`
  std::string default_value;  ///< as written in a scenario; "": none
  std::string default_text;   ///< shown instead, where the default depends on other keys
  std::vector<std::string> choices;
  double minimum = -1e300;
  bool minimum_excluded = false;
  double maximum = 1e300;
  std::string target;    ///< kSection, kReference, kItems: section; kPlugin: kind of plug-in
  std::string replaces;  ///< an override of this key drops that sibling (two ways to say one thing)
};

struct Section {
  std::string name;       ///< unique: "sharding"
  std::string title;      ///< heading of the documentation
  std::string help;       ///< paragraph under it
  std::string shorthand;  ///< a scalar in place of the mapping sets this key; "*": every key; "": not allowed
  std::vector<KeySpec> keys;

  [[nodiscard]] const KeySpec* find(std::string_view key) const;
  [[nodiscard]] std::vector<std::string> key_names() const;
};

/// All sections, including one per plug-in ("topology fat_tree").
class Schema {
 public:
  explicit Schema(const Plugins& plugins);

  /// InternalError if there is none.
  [[nodiscard]] const Section& section(std::string_view name) const;
  [[nodiscard]] const Section& plugin_section(std::string_view kind, std::string_view plugin) const;
  /// Section that describes an item of kind `kind` in a list; nullptr if there is no such kind.
  [[nodiscard]] const Section* item_section(const KeySpec& list, std::string_view kind) const;

  [[nodiscard]] const std::vector<Section>& sections() const { return sections_; }

  [[nodiscard]] const std::vector<catalog::PluginInfo>& plugins(std::string_view kind) const;

 private:
  Plugins plugins_;
  std::vector<Section> sections_;
};

inline constexpr std::string_view kScheduleKind = "schedule";
inline constexpr std::string_view kTopologyKind = "topology";
inline constexpr std::string_view kCostModelKind = "cost model";

/// Short forms for `--set` only: "tp" -> "strategy.tensor_parallel"; "" when `name` is none.
struct Alias {
  std::string_view name;
  std::string_view key;
};

[[nodiscard]] std::vector<Alias> override_aliases();

/// Where a reference is looked up: sections of catalogue entries, in the order of the documentation.
struct CatalogueKind {
  std::string_view kind;    ///< "device_link": also the section's name
  std::string_view plural;  ///< "device_links": the key in catalogue files
  std::string_view folder;  ///< "hardware"
};

[[nodiscard]] std::vector<CatalogueKind> catalogue_kinds();

/// The parts of the table, one function per file.
[[nodiscard]] std::vector<Section> top_sections();
[[nodiscard]] std::vector<Section> model_sections();
[[nodiscard]] std::vector<Section> hardware_sections();
[[nodiscard]] std::vector<Section> strategy_sections();
[[nodiscard]] std::vector<Section> disturbance_sections();

}  // namespace lamina::scenario
