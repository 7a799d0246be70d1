#include "sim/sweep/run.hpp"

#include <cstddef>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sim/pipeline/simulate.hpp"
#include "tests/support/paths.hpp"

namespace lamina::sweep {
namespace {

const std::string kFile = R"(schema_version: 1
model: x32
cluster: {node: dgx-a100-80gb, network: infiniband-hdr, nodes: 8}
strategy: {global_batch: 64}
sweep: {axes: {tp: [1, 2, 4], pp: [1, 2]}}
)";

/// `--refine 2` over the points above.
class RefinedRun : public testing::Test {
 protected:
  [[nodiscard]] std::string table_after(const std::vector<std::string>& journal) const {
    RunOptions options;
    options.refine = 2;
    return to_csv(grid_, run(bench_, options, nullptr, journal, [](const Progress&) {}));
  }

  /// The line of the journal for each point, replayed with SimGrid.
  [[nodiscard]] std::vector<std::string> replays() const {
    std::vector<std::string> lines;
    for (const Row& row : run(bench_, {}, nullptr, {}, [](const Progress&) {})) {
      lines.push_back("row " + to_json_line(row, {grid_.keys(), grid_.point(row.point).texts}));
    }
    return lines;
  }

  pipeline::Catalogs catalogs_ = pipeline::builtin_catalogs();
  scenario::Loader loader_{kFile, "test.yaml", tests::source_folder() / "scenarios", pipeline::plugins_of(catalogs_)};
  Grid grid_{loader_, loader_.sweep()};
  Bench bench_{loader_, catalogs_, grid_};
};

TEST_F(RefinedRun, ReplaysAsManyPointsAsAskedForWhateverTheJournalHolds) {
  const std::string table = table_after({});
  const auto rows_by = [&](const std::string& transport) {
    std::size_t rows = 0;
    for (std::size_t at = table.find(transport); at != std::string::npos; at = table.find(transport, at + 1)) {
      ++rows;
    }
    return rows;
  };
  ASSERT_EQ(rows_by(",simgrid,"), 2U);
  for (const std::string& line : replays()) {  // as after a first pass in which others had failed
    EXPECT_EQ(table_after({line}), table) << line;
  }
}

}  // namespace
}  // namespace lamina::sweep
