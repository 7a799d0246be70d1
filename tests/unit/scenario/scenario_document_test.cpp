#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/pipeline/simulate.hpp"
#include "sim/scenario/dataset.hpp"
#include "tests/support/paths.hpp"
#include "tests/unit/scenario/scenario_fixture.hpp"

namespace lamina::scenario {
namespace {

using testing::HasSubstr;

std::string content_of(const std::filesystem::path& file) {
  std::stringstream content;
  content << std::ifstream(file).rdbuf();
  return content.str();
}

/// Under LAMINA_UPDATE_DOCUMENTS the page is rewritten.
void expect_page(const std::filesystem::path& file, const std::string& page) {
  if (std::getenv("LAMINA_UPDATE_DOCUMENTS") != nullptr) {
    std::ofstream(file) << page;
  }
  EXPECT_TRUE(content_of(file) == page) << file << " is out of date; set LAMINA_UPDATE_DOCUMENTS=1 to rewrite it";
}

TEST(ScenarioDocument, IsThePageThatTheTablePrints) {
  expect_page(tests::source_folder() / "docs/scenario.md",
              describe_schema(pipeline::plugins_of(pipeline::builtin_catalogs())));
}

TEST(ScenarioDocument, TablesOfDatasetFilesEndTheirPage) {
  const std::filesystem::path file = tests::source_folder() / "docs/score.md";
  const std::string page = content_of(file);
  const std::string heading = "## Dataset files\n\n";
  const std::size_t at = page.find(heading);
  ASSERT_NE(at, std::string::npos);
  expect_page(file, page.substr(0, at + heading.size()) + describe_dataset());
}

TEST(ScenarioDocument, NamesEveryPluginParameterWithItsDefault) {
  const std::string page = describe_schema(test_plugins());
  EXPECT_THAT(page, HasSubstr("| `layers_per_chunk` | whole number, 1 to 1000 | `1` | Layers of a chunk. |"));
  EXPECT_THAT(page, HasSubstr("| `backward_order` | `ascending`, `descending` | `ascending` | Order. |"));
  EXPECT_THAT(page, HasSubstr("| `needed` | whole number, 0 to 9 | required | No default. |"));
}

TEST(ScenarioDocument, IsTheSameEveryTime) {
  EXPECT_EQ(describe_schema(test_plugins()), describe_schema(test_plugins()));
}

TEST(ScenarioDocument, ItsExampleLoads) {
  const std::string page = describe_schema(test_plugins());
  const std::size_t start = page.find("```yaml\n") + 8;
  const Scenario scenario = load(page.substr(start, page.find("```", start) - start));
  EXPECT_EQ(scenario.strategy.ranks(), 8);
}

TEST(ScenarioDocument, DefaultsOfTheBuiltInPluginsLoad) {
  const Plugins plugins = pipeline::plugins_of(pipeline::builtin_catalogs());
  for (const catalog::PluginInfo& schedule : plugins.schedules) {
    EXPECT_EQ(load_text(with_more("  schedule: " + schedule.name + "\n"), "t.yaml", source_catalogue(), plugins)
                  .strategy.schedule.name,
              schedule.name);
  }
  for (const catalog::PluginInfo& topology : plugins.topologies) {
    const std::string text = with_line(6, "  network: infiniband-hdr\n  topology: {name: " + topology.name +
                                              (topology.name == "custom" ? ", file: graph.yaml}" : "}"));
    EXPECT_EQ(load_text(text, "t.yaml", source_catalogue(), plugins).cluster.topology.name, topology.name);
  }
  for (const catalog::PluginInfo& cost_model : plugins.cost_models) {
    const std::string text = with_more("simulation: {cost_model: " + cost_model.name + "}\n");
    EXPECT_EQ(load_text(text, "t.yaml", source_catalogue(), plugins).simulation.cost_model.name, cost_model.name);
  }
}

TEST(ScenarioDocument, EveryScenarioOfTheTreeLoads) {
  const Plugins plugins = pipeline::plugins_of(pipeline::builtin_catalogs());
  int loaded = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(source_catalogue())) {
    const std::string folder = entry.path().parent_path().filename().string();
    const std::set<std::string> others = {"models", "hardware", "networks", "measured"};
    if (entry.path().extension() == ".yaml" && !others.contains(folder)) {
      const Scenario scenario = load_file(entry.path(), source_catalogue(), plugins);
      EXPECT_LE(scenario.strategy.ranks(), scenario.cluster.devices()) << entry.path();
      ++loaded;
    }
  }
  EXPECT_GE(loaded, 15);  // the published rows of one paper
}

}  // namespace
}  // namespace lamina::scenario
