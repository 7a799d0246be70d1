// The datasets of the source tree.
#include <algorithm>
#include <filesystem>
#include <vector>

#include <gtest/gtest.h>

#include "sim/metrics/reference.hpp"
#include "sim/pipeline/simulate.hpp"
#include "sim/scenario/loader.hpp"
#include "sim/scenario/text_file.hpp"
#include "sim/score/predict.hpp"
#include "sim/score/prepare.hpp"
#include "tests/support/paths.hpp"

namespace lamina::score {
namespace {

std::vector<scenario::Dataset> datasets_of_the_tree() {
  const scenario::Plugins plugins = pipeline::plugins_of(pipeline::builtin_catalogs());
  std::vector<scenario::Dataset> datasets;
  for (const auto& entry : std::filesystem::directory_iterator(tests::source_folder() / "scenarios/measured")) {
    datasets.push_back(scenario::read_dataset(scenario::read_text_file(entry.path(), scenario::kLargestFile),
                                              entry.path(), plugins, metrics::reference_names()));
  }
  return datasets;
}

TEST(DatasetFiles, AllAreReadAndSayWhoMeasured) {
  const auto datasets = datasets_of_the_tree();
  EXPECT_GE(datasets.size(), 50U);
  for (const scenario::Dataset& dataset : datasets) {
    EXPECT_FALSE(dataset.summary.empty()) << dataset.name;
    EXPECT_FALSE(dataset.source.empty()) << dataset.name;
    EXPECT_NE(dataset.data.empty(), dataset.rows.empty()) << dataset.name;  // a file of rows, or rows
  }
}

TEST(DatasetFiles, EveryTableHasRowsThatMakeScenariosAndNoneThatIsMalformed) {
  const std::filesystem::path tables = tests::shared_folder() / "measured";
  if (!std::filesystem::exists(tables)) {
    GTEST_SKIP() << "no measured tables beside the source tree";
  }
  const scenario::Plugins plugins = pipeline::plugins_of(pipeline::builtin_catalogs());
  for (const scenario::Dataset& dataset : datasets_of_the_tree()) {
    SCOPED_TRACE(dataset.name);
    const PreparedTable prepared = prepare(dataset, open_table(dataset, tables), {});
    const auto with = [&](Status status) {
      return std::count_if(prepared.rows.begin(), prepared.rows.end(),
                           [&](const PreparedRow& row) { return row.status == status; });
    };
    EXPECT_GT(with(Status::kScored), 0);
    EXPECT_EQ(with(Status::kMalformed), 0);
    const scenario::Loader loader(dataset.scenario, dataset.file, tests::source_folder() / "scenarios", plugins);
    EXPECT_NO_THROW(check_dataset(loader, prepared.rows));
  }
}

}  // namespace
}  // namespace lamina::score
