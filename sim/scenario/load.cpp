#include "sim/scenario/load.hpp"

#include <cstdlib>
#include <system_error>

#include <fmt/core.h>

#include "sim/error/error.hpp"
#include "sim/scenario/catalogue.hpp"
#include "sim/scenario/loader.hpp"
#include "sim/scenario/text_file.hpp"
#include "sim/scenario/tree.hpp"

namespace lamina::scenario {
namespace {

bool is_catalogue(const std::filesystem::path& folder) {
  std::error_code ignored;
  return std::filesystem::is_directory(folder / "models", ignored) &&
         std::filesystem::is_directory(folder / "hardware", ignored);
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
  const Loader loader(text, file, catalogue, plugins, overrides);
  Scenario scenario = loader.load();
  (void)loader.sweep();  // checked, and of no further use to one scenario
  return scenario;
}

Scenario load_cluster_file(const std::filesystem::path& file, const std::filesystem::path& catalogue,
                           const Plugins& plugins, const std::vector<Override>& overrides) {
  return open_scenario(file, catalogue, plugins, overrides).load_cluster();
}

std::vector<CatalogueEntry> list_catalogue(const std::filesystem::path& catalogue) {
  const Schema schema(Plugins{});
  return Catalogue(catalogue, schema).list();
}

}  // namespace lamina::scenario
