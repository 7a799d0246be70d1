#include "sim/draw/unit_cells.hpp"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "sim/error/error.hpp"
#include "sim/replay/replay.hpp"
#include "tests/unit/draw/chart_fixtures.hpp"
#include "tests/unit/replay/unit_time_lowering.hpp"

namespace lamina::draw {
namespace {

using schedules::Action;
using schedules::ActionType;
using schedules::ScheduleTable;
using testing::boxes;
using testing::schedule_names;
using testing::table_of;

/// Two stages on two ranks, one micro-batch, and what is given in their rows.
ScheduleTable two_ranks(std::vector<std::vector<Action>> rows) {
  ScheduleTable table;
  table.model_chunks = 2;
  table.micro_batches = 1;
  table.stages = schedules::looping_placement(2, 2);
  table.actions = std::move(rows);
  return table;
}

TEST(UnitCells, DrawGpipeWhereItsFormulasPutIt) {
  constexpr int kRanks = 4;
  constexpr int kMicroBatches = 8;
  const Chart chart = unit_cells(table_of("gpipe", kRanks, kMicroBatches, 4));
  // Forwards 1 and backwards 2 long: (m + p - 1)(1 + 2); m forwards from r on; backwards from the last rank back.
  EXPECT_DOUBLE_EQ(chart.end, (kMicroBatches + kRanks - 1) * 3);
  EXPECT_FALSE(chart.seconds);
  ASSERT_EQ(chart.rows.size(), 4U);
  for (int rank = 0; rank < kRanks; ++rank) {
    const std::vector<Box>& row = boxes(chart, static_cast<std::size_t>(rank));
    ASSERT_EQ(row.size(), 2U * kMicroBatches);
    for (int i = 0; i < kMicroBatches; ++i) {
      EXPECT_DOUBLE_EQ(row[static_cast<std::size_t>(i)].start, rank + i);
      EXPECT_EQ(row[static_cast<std::size_t>(i)].kind, Kind::kForward);
      EXPECT_EQ(row[static_cast<std::size_t>(i)].micro_batch, i);
      const Box& backward = row[static_cast<std::size_t>(kMicroBatches + i)];
      EXPECT_DOUBLE_EQ(backward.start, kMicroBatches + kRanks - 1 + 2 * (kRanks - 1 - rank) + 2 * i);
      EXPECT_DOUBLE_EQ(backward.end - backward.start, 2);
      EXPECT_EQ(backward.kind, Kind::kBackward);
    }
  }
}

TEST(UnitCells, DivideAUnitByTheStagesOfARank) {
  // Breadth-first: the ramp of p - 1 stages, forward and back, is all that is lost (arXiv 2106.02679, section 3).
  const Chart chart = unit_cells(table_of("layered_modular", 4, 8, 16));
  EXPECT_EQ(chart.shades, 4);
  EXPECT_DOUBLE_EQ(chart.end, 8 * 3 + 3 * 3 / 4.0);
  for (std::size_t rank = 0; rank < 4; ++rank) {
    EXPECT_DOUBLE_EQ(boxes(chart, rank).front().start, static_cast<double>(rank) / 4);
    EXPECT_EQ(boxes(chart, rank).front().shade, 0);
  }
}

TEST(UnitCells, ShadesFollowTheStagesOfARankInTheModel) {
  const ScheduleTable table = table_of("zero_bubble_v", 4, 8, 8);
  const Chart chart = unit_cells(table);
  EXPECT_EQ(chart.shades, 2);
  for (std::size_t rank = 0; rank < 4; ++rank) {
    for (const Box& box : boxes(chart, rank)) {
      EXPECT_EQ(box.shade, box.stage < 4 ? 0 : 1);  // ranks 0 1 2 3 3 2 1 0
    }
  }
}

TEST(UnitCells, FactsGiveTheBubbleOfTheBusiestRank) {
  // (p - 1) / (m + p - 1) of the makespan.
  const Chart chart = unit_cells(table_of("one_forward_one_backward", 4, 8, 4));
  EXPECT_EQ(fmt::format("{}", fmt::join(chart.facts, ", ")),
            "4 ranks, 8 micro-batches, makespan 33.0 units, bubble 27.3 %");
}

TEST(UnitCells, AWindowCutsBoxesAndRanks) {
  const Chart chart =
      unit_cells(table_of("gpipe", 4, 8, 4), {.first_rank = 1, .last_rank = 2, .from = 2.5, .until = 4});
  ASSERT_EQ(chart.rows.size(), 2U);
  EXPECT_EQ(chart.rows[0].label, "rank 1");
  ASSERT_EQ(boxes(chart, 0).size(), 2U);  // 1..2, [2..3], [3..4], 4..5, ...
  EXPECT_DOUBLE_EQ(boxes(chart, 0)[0].start, 2.5);
  EXPECT_DOUBLE_EQ(boxes(chart, 0)[0].end, 3);
  EXPECT_DOUBLE_EQ(boxes(chart, 0)[1].end, 4);
  EXPECT_DOUBLE_EQ(chart.end, 4);
}

TEST(UnitCells, HalvesOfAPairStandAboveEachOther) {
  const ScheduleTable table = table_of("dual_pipe_v", 4, 8, 8);
  const Chart chart = unit_cells(table);
  int pairs = 0;
  for (std::size_t rank = 0; rank < 4; ++rank) {
    for (std::size_t i = 0; i < table.actions[rank].size(); ++i) {
      if (!table.actions[rank][i].paired_with_next) {
        continue;
      }
      const Box& upper = boxes(chart, rank).at(i);
      const Box& lower = boxes(chart, rank).at(i + 1);
      EXPECT_EQ(upper.part, Part::kUpper);
      EXPECT_EQ(lower.part, Part::kLower);
      EXPECT_DOUBLE_EQ(upper.start, lower.start);
      EXPECT_DOUBLE_EQ(upper.end - upper.start, 1.5);  // a forward and a backward of half a rank
      EXPECT_DOUBLE_EQ(lower.end, upper.end);
      ++pairs;
    }
  }
  EXPECT_GT(pairs, 0);
}

TEST(UnitCells, APairThatNeedsItselfRunsOneAfterTheOther) {
  const Chart chart = unit_cells(two_ranks({{{ActionType::kForward, 0, 0}, {ActionType::kBackward, 0, 0}},
                                            {{ActionType::kForward, 1, 0, true}, {ActionType::kBackward, 1, 0}}}));
  ASSERT_EQ(boxes(chart, 1).size(), 2U);
  EXPECT_EQ(boxes(chart, 1)[0].part, Part::kWhole);
  EXPECT_DOUBLE_EQ(boxes(chart, 1)[1].start, 2);
  EXPECT_DOUBLE_EQ(chart.end, 6);
}

TEST(UnitCells, ATableThatWaitsForItselfIsABrokenPromise) {
  const ScheduleTable table = two_ranks({{{ActionType::kBackward, 0, 0}, {ActionType::kForward, 0, 0}},
                                         {{ActionType::kForward, 1, 0}, {ActionType::kBackward, 1, 0}}});
  EXPECT_THROW((void)unit_cells(table), error::InternalError);
}

class UnitCellsOf : public ::testing::TestWithParam<std::string> {};

TEST_P(UnitCellsOf, StandWhereTheReplayPutsThem) {
  for (const int micro_batches : {8, 12}) {
    const ScheduleTable table = table_of(GetParam(), GetParam() == "accumulate" ? 1 : 4, micro_batches, 16);
    replay::testing::UnitTimeLowering lowering(table, 0);
    const timeline::Timeline timeline = lowering.scene.run();
    const Chart chart = unit_cells(table);
    EXPECT_NEAR(chart.end, timeline.end_s, 1e-9);
    for (std::size_t rank = 0; rank < table.actions.size(); ++rank) {
      ASSERT_EQ(boxes(chart, rank).size(), table.actions[rank].size());
      for (std::size_t i = 0; i < table.actions[rank].size(); ++i) {
        const timeline::Span& span = lowering.span_of(timeline, rank, i);
        EXPECT_NEAR(boxes(chart, rank)[i].start, span.start, 1e-9);
        EXPECT_NEAR(boxes(chart, rank)[i].end, span.end, 1e-9);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Schedules, UnitCellsOf, ::testing::ValuesIn(schedule_names()),
                         [](const auto& schedule) { return schedule.param; });

}  // namespace
}  // namespace lamina::draw
