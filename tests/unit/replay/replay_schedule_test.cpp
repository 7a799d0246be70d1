#include <cmath>
#include <sstream>

#include <gtest/gtest.h>

#include "schedules/schedule.hpp"
#include "sim/replay/replay.hpp"
#include "tests/unit/replay/unit_time_lowering.hpp"
#include "tests/unit/schedules/reference_tables.hpp"

namespace lamina::replay {
namespace {

using schedules::ScheduleTable;
using testing::kUnbalanced;
using testing::UnitTimeLowering;
using testing::UnitTimes;

ScheduleTable table_of(const std::string& name, const schedules::ScheduleRequest& request) {
  const auto catalog = schedules::builtin_schedules();
  return catalog.find(name)->implementation->table(request).value();
}

TEST(ReplaySchedule, EqualsTheReferenceReplaysOfTheTables) {
  const auto tables = schedules::testing::reference_tables();
  if (tables.empty()) {
    GTEST_SKIP() << "measured and reference data are absent: " << schedules::testing::reference_folder();
  }
  constexpr double kPrinted = 5.1e-5;  // four decimals
  const auto expected = schedules::testing::expected_results();
  for (const auto& reference : tables) {
    SCOPED_TRACE(reference.file);
    const auto& row = expected.at(reference.file.substr(0, reference.file.size() - 4));
    const ScheduleTable table = table_of(reference.schedule, schedules::testing::request_for(reference));
    const UnitTimeLowering prompt(table, 0);
    const timeline::Timeline timeline = prompt.scene.run();
    const double work = 3.0 * reference.micro_batches;
    EXPECT_DOUBLE_EQ(work, std::stod(row.at("work_per_rank")));
    EXPECT_NEAR(timeline.end_s, std::stod(row.at("makespan_c0")), kPrinted);
    EXPECT_NEAR(timeline.end_s - work, std::stod(row.at("bubble_c0")), kPrinted);
    EXPECT_NEAR(prompt.longest_span(timeline) - work, std::stod(row.at("max_rank_span_minus_work_c0")), kPrinted);
    std::istringstream until_weight(row.at("peak_chunks_F_to_W_per_rank"));
    std::istringstream until_input(row.at("peak_chunks_F_to_I_per_rank"));
    for (std::size_t rank = 0; rank < table.actions.size(); ++rank) {
      int peak = 0;
      until_weight >> peak;
      EXPECT_EQ(prompt.peak_chunks(rank, timeline, schedules::ActionType::kWeightGradient), peak) << "rank " << rank;
      until_input >> peak;
      EXPECT_EQ(prompt.peak_chunks(rank, timeline, schedules::ActionType::kInputGradient), peak) << "rank " << rank;
    }
    const UnitTimeLowering delayed(table, 0.5 / reference.chunks);
    EXPECT_NEAR(delayed.scene.run().end_s, std::stod(row.at("makespan_c0.5/v")), kPrinted);
    const UnitTimeLowering unbalanced(table, 0, kUnbalanced);
    const timeline::Timeline skewed = unbalanced.scene.run();
    EXPECT_NEAR(skewed.end_s, std::stod(row.at("makespan_unbalanced")), kPrinted);
    EXPECT_NEAR(unbalanced.longest_span(skewed) - work, std::stod(row.at("span_minus_work_unbalanced")), kPrinted);
  }
}

// Bubble (p - 1)(tF + tB), Narayanan et al., arXiv 2104.04473, section 2.2.1; tF = 1, tB = 2.
TEST(ReplaySchedule, GpipeAndOneForwardOneBackwardWaitPMinusOneForwardsAndBackwards) {
  for (const char* name : {"gpipe", "one_forward_one_backward"}) {
    for (const int ranks : {1, 2, 5}) {
      const schedules::ScheduleRequest request{ranks, 7, 10, {}};
      const ScheduleTable table = table_of(name, request);
      EXPECT_NEAR(UnitTimeLowering(table, 0).scene.run().end_s, 3 * 7 + 3 * (ranks - 1), 1e-9) << name << ' ' << ranks;
    }
  }
}

// The modular pipeline divides that by the chunks per rank when there are enough micro-batches, m >= p (Lamy-Poirier,
// arXiv 2106.02679).
TEST(ReplaySchedule, LayeredModularDividesTheBubbleByTheChunksPerRank) {
  for (const char* order : {"ascending", "descending"}) {
    for (const int chunks : {1, 2, 4}) {
      schedules::ScheduleRequest request{3, 6, 3 * chunks, {}};
      request.parameters.set_number("layers_per_chunk", 1);
      request.parameters.set_choice("backward_order", order);
      const ScheduleTable table = table_of("layered_modular", request);
      EXPECT_NEAR(UnitTimeLowering(table, 0).scene.run().end_s, 3.0 * 6 + 3.0 * (3 - 1) / chunks, 1e-9);
    }
  }
}

// One micro-batch visits all p v chunks alone: p (tF + tB), whatever the chunks.
TEST(ReplaySchedule, LayeredModularServesFewerMicroBatchesThanRanks) {
  schedules::ScheduleRequest request{4, 1, 8, {}};
  request.parameters.set_number("layers_per_chunk", 1);
  request.parameters.set_choice("backward_order", "ascending");
  const ScheduleTable table = table_of("layered_modular", request);
  EXPECT_NEAR(UnitTimeLowering(table, 0).scene.run().end_s, 4 * 3, 1e-9);
}

}  // namespace
}  // namespace lamina::replay
