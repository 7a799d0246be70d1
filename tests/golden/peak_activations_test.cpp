// Peak activations and messages of the reference replays (PyTorch's, Megatron-LM's, Fast-LLM's, sail-sg's and
// DeepSeek's tables) come out of the whole pipeline: scenario, lowering, SimGrid, report.
#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/uniform_pipeline.hpp"
#include "tests/unit/schedules/reference_tables.hpp"

namespace lamina {
namespace {

using schedules::testing::ReferenceTable;

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
  const auto expected = schedules::testing::expected_results();
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

/// Micro-batches that each pipeline rank holds at most, of its whole share of the model.
std::vector<double> peaks_of(const std::string& schedule, int ranks, int micro_batches) {
  const pipeline::Catalogs catalogs = pipeline::builtin_catalogs();
  scenario::Scenario scenario = tests::uniform_pipeline(ranks, micro_batches, 1);
  scenario.strategy.schedule = tests::usual_schedule(catalogs, schedule);
  const auto result = pipeline::simulate(scenario, catalogs);
  EXPECT_TRUE(result) << result.error().reason;
  std::vector<double> peaks;
  for (const report::Role& role : result->report.roles) {
    peaks.push_back(role.peak_activations);
  }
  return peaks;
}

// The closed forms of the papers, which need no tables.
TEST(PeakActivations, OfGpipeAreAllMicroBatches) {  // Huang et al., arXiv 1811.06965
  for (const double peak : peaks_of("gpipe", 4, 8)) {
    EXPECT_DOUBLE_EQ(peak, 8);
  }
}

TEST(PeakActivations,
     OfOneForwardOneBackwardAreTheRanksThatFollow) {  // Narayanan et al., arXiv 2104.04473, section 2.2
  for (const int micro_batches : {2, 8}) {
    const std::vector<double> peaks = peaks_of("one_forward_one_backward", 4, micro_batches);
    ASSERT_EQ(peaks.size(), 4U);
    for (int rank = 0; rank < 4; ++rank) {
      EXPECT_DOUBLE_EQ(peaks[static_cast<std::size_t>(rank)], std::min(micro_batches, 4 - rank)) << "rank " << rank;
    }
  }
}

TEST(PeakActivations, OfZeroBubbleH1AreAtMostThoseOfOneForwardOneBackward) {  // Qi et al., arXiv 2401.10241, table 1
  for (const double peak : peaks_of("zero_bubble_h1", 4, 12)) {
    EXPECT_LE(peak, 4);
  }
}

TEST(PeakActivations, OfZeroBubbleH2AreAtMostTwiceTheRanksLessOne) {  // the same table: (2 p - 1) M_B
  const std::vector<double> peaks = peaks_of("zero_bubble_h2", 4, 12);
  EXPECT_DOUBLE_EQ(*std::max_element(peaks.begin(), peaks.end()), 7);
}

}  // namespace
}  // namespace lamina
