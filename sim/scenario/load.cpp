#include "sim/scenario/load.hpp"

#include <cstdlib>
#include <system_error>
#include <utility>

#include <fmt/core.h>

#include "sim/error/error.hpp"
#include "sim/scenario/catalogue.hpp"
#include "sim/scenario/fault.hpp"
#include "sim/scenario/merge.hpp"
#include "sim/scenario/reader.hpp"
#include "sim/scenario/resolve.hpp"
#include "sim/scenario/text_file.hpp"
#include "sim/scenario/tree.hpp"

namespace lamina::scenario {
namespace {

bool is_catalogue(const std::filesystem::path& folder) {
  std::error_code ignored;
  return std::filesystem::is_directory(folder / "models", ignored) &&
         std::filesystem::is_directory(folder / "hardware", ignored);
}

/// The version comes first: in a file of another version no other message can be trusted.
void check_version(const Schema& schema, const Tree& root) {
  const Section& section = schema.section("scenario");
  const KeySpec& spec = *section.find("schema_version");
  const TreeEntry* entry = root.find(spec.name);
  if (entry == nullptr) {
    fail(root.position.location(), spec.name, {"The key \"schema_version\" is missing.", "", "schema_version: 1"});
  }
  KeySpec any_version = spec;
  any_version.minimum = -1e300;
  any_version.maximum = 1e300;
  if (read_numeric(any_version, entry->value, spec.name) != 1) {
    fail(entry->value.position.location(), spec.name,
         {"This version of the format is not supported by this version of Lamina.", describe(entry->value), "1"});
  }
}

Tree parse_root(const Schema& schema, std::string_view text, const std::string& file,
                const std::vector<Override>& overrides) {
  Tree root = parse_yaml(text, file);
  if (!root.is_mapping()) {
    const error::Location location = root.is_null() ? error::Location{file, 0, 0} : root.position.location();
    fail(location, "",
         {"A scenario is a mapping from keys to values.", root.is_null() ? "an empty file" : describe(root),
          enumerate(schema.section("scenario").key_names())});
  }
  for (const Override& change : overrides) {
    apply_override(schema, root, change);
  }
  check_version(schema, root);
  return root;
}

}  // namespace

std::filesystem::path find_catalogue() {
  std::error_code status;
  if (const char* chosen = std::getenv("LAMINA_CATALOGUE"); chosen != nullptr && *chosen != '\0') {
    if (!is_catalogue(chosen)) {
      throw error::EnvironmentError(
          fmt::format("LAMINA_CATALOGUE is \"{}\", which is no folder with models/ and hardware/ in it", chosen));
    }
    return chosen;
  }
  std::vector<std::filesystem::path> candidates;
  const std::filesystem::path executable = std::filesystem::read_symlink("/proc/self/exe", status);
  if (!status) {
    candidates.push_back(executable.parent_path().parent_path() / "share" / "lamina");
  }
  candidates.emplace_back(LAMINA_SOURCE_CATALOGUE);
  std::string tried;
  for (const std::filesystem::path& candidate : candidates) {
    if (is_catalogue(candidate)) {
      return candidate;
    }
    tried += "\n  " + candidate.string();
  }
  throw error::EnvironmentError(
      "The catalogues of models and hardware were not found. Set LAMINA_CATALOGUE to the folder that holds models/ and "
      "hardware/. Tried:" +
      tried);
}

Scenario load_file(const std::filesystem::path& file, const std::filesystem::path& catalogue, const Plugins& plugins,
                   const std::vector<Override>& overrides) {
  return load_text(read_text_file(file, kLargestFile), file, catalogue, plugins, overrides);
}

Scenario load_text(std::string_view text, const std::filesystem::path& file, const std::filesystem::path& catalogue,
                   const Plugins& plugins, const std::vector<Override>& overrides) {
  if (text.size() > kLargestFile) {
    fail({file.string(), 0, 0}, "",
         {"The text is too large to be a scenario.", fmt::format("{} bytes", text.size()),
          fmt::format("at most {} bytes", kLargestFile)});
  }
  const Schema schema(plugins);
  const Tree root = parse_root(schema, text, file.string(), overrides);
  const SectionReader reader(schema.section("scenario"), root, "");
  const Catalogue entries(catalogue, schema);
  const Context context{schema, entries, file.parent_path()};
  Scenario scenario;
  scenario.file = file.string();
  scenario.name = reader.text_or("name", file.stem().string());
  scenario.description = reader.text("description");
  scenario.model = read_model(context, *reader.value("model"));
  scenario.cluster = read_cluster(context, *reader.value("cluster"));
  scenario.strategy = read_strategy(context, *reader.value("strategy"), scenario.model, scenario.cluster);
  if (scenario.model.custom && scenario.strategy.recompute != Recompute::kFull) {
    scenario.model.custom->recompute = Seconds(0);
  }
  scenario.simulation = read_simulation(context, reader.value("simulation"), root.position);
  if (const Tree* disturbances = reader.value("disturb")) {
    scenario.disturbances = read_disturbances(context, *disturbances, scenario.cluster);
  }
  if (const Tree* training = reader.value("training")) {
    scenario.training = read_training(context, *training);
  }
  if (const Tree* reference = reader.value("reference")) {
    scenario.reference = read_reference(context, *reference);
  }
  return scenario;
}

std::vector<CatalogueEntry> list_catalogue(const std::filesystem::path& catalogue) {
  const Schema schema(Plugins{});
  return Catalogue(catalogue, schema).list();
}

}  // namespace lamina::scenario
