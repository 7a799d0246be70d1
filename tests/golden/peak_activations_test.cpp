// Peak activations and messages of the reference replays (PyTorch's, Megatron-LM's, Fast-LLM's, sail-sg's and
// DeepSeek's tables) come out of the whole pipeline: scenario, lowering, SimGrid, report.
#include <map>
#include <sstream>

#include <gtest/gtest.h>

#include "tests/support/uniform_pipeline.hpp"
#include "tests/unit/schedules/reference_tables.hpp"

namespace lamina {
namespace {

using schedules::testing::ReferenceTable;

std::map<std::string, std::map<std::string, std::string>> expected_rows() {
  const auto rows = schedules::testing::read_csv(schedules::testing::reference_folder() / "expected.csv");
  std::map<std::string, std::map<std::string, std::string>> result;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    for (std::size_t column = 0; column < rows[i].size(); ++column) {
      result[rows[i][0]][rows[0][column]] = rows[i][column];
    }
  }
  return result;
}

report::Report replay_table(const ReferenceTable& table, scenario::Scenario& scenario) {
  const pipeline::Catalogs catalogs = pipeline::builtin_catalogs();
  const bool two_copies = table.schedule == "dual_pipe";
  scenario = tests::uniform_pipeline(table.ranks, table.micro_batches, table.chunks);
  scenario.strategy.schedule = {table.schedule, table.parameters};
  if (two_copies) {  // its chunks are whole shares of the model
    scenario = tests::uniform_pipeline(table.ranks, table.micro_batches, 1);
    scenario.strategy.schedule = tests::usual_schedule(catalogs, table.schedule);
  }
  auto result = pipeline::simulate(scenario, catalogs);
  if (!result) {
    throw std::runtime_error(table.file + ": " + result.error().reason);
  }
  return result->report;
}

TEST(PeakActivations, EqualTheReferenceReplaysThroughTheWholePipeline) {
  const auto tables = schedules::testing::reference_tables();
  if (tables.empty()) {
    GTEST_SKIP() << "reference tables are absent: " << schedules::testing::reference_folder();
  }
  const auto expected = expected_rows();
  int compared = 0;
  for (const ReferenceTable& table : tables) {
    SCOPED_TRACE(table.file);
    const auto& row = expected.at(table.file.substr(0, table.file.size() - 4));
    scenario::Scenario scenario;
    const report::Report report = replay_table(table, scenario);
    const double chunks_per_share = table.schedule == "dual_pipe" ? 1 : table.chunks;
    std::istringstream peaks(row.at("peak_chunks_F_to_W_per_rank"));
    double messages = 0;
    for (const report::Role& role : report.roles) {
      double chunks = 0;
      peaks >> chunks;
      EXPECT_NEAR(role.peak_activations * chunks_per_share, chunks, 1e-9) << "rank " << role.pipeline_rank;
      messages += static_cast<double>(role.messages);
    }
    if (const auto sends = row.find("total_sends"); sends != row.end()) {  // DualPipe's has no lowered table
      EXPECT_EQ(messages, std::stod(sends->second));
    }
    ++compared;
  }
  EXPECT_GT(compared, 50);
}

}  // namespace
}  // namespace lamina
