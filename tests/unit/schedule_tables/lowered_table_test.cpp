#include "sim/schedule_tables/lowered_table.hpp"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "sim/error/error.hpp"
#include "tests/unit/schedules/reference_tables.hpp"
#include "tests/unit/schedules/table_text.hpp"

namespace lamina::schedule_tables {
namespace {

using schedules::Action;
using schedules::ActionType;
using schedules::LoweredAction;
using schedules::LoweredRows;
using schedules::LoweredType;
using schedules::ScheduleTable;
using schedules::testing::make;

/// Cells of PyTorch's CSV. RESHARDs in a row are sorted: they follow the order of a Python set in the references.
std::vector<std::string> with_sorted_evictions(std::vector<std::string> cells) {
  const auto is_eviction = [](const std::string& cell) { return cell.ends_with("RESHARD"); };
  for (auto first = cells.begin(); first != cells.end();) {
    first = std::find_if(first, cells.end(), is_eviction);
    const auto last = std::find_if_not(first, cells.end(), is_eviction);
    std::sort(first, last);
    first = last;
  }
  return cells;
}

std::vector<std::string> cells(const std::vector<LoweredAction>& row) {
  std::vector<std::string> result;
  bool paired = false;
  for (const LoweredAction& action : row) {
    if (paired) {
      result.back() += fmt::format(";{})OVERLAP_F_B", to_string(action));
    } else {
      result.push_back(fmt::format("{}{}", action.paired_with_next ? "(" : "", to_string(action)));
    }
    paired = action.paired_with_next;
  }
  return result;
}

std::string text(const std::vector<LoweredAction>& row) {
  return fmt::format("{}", fmt::join(cells(row), " "));
}

std::size_t count(const std::vector<LoweredAction>& row, std::initializer_list<LoweredType> types) {
  return static_cast<std::size_t>(std::count_if(row.begin(), row.end(), [&](const LoweredAction& action) {
    return std::find(types.begin(), types.end(), action.type) != types.end();
  }));
}

TEST(LoweredRows, EqualTheReferenceTablesCellByCell) {
  const auto tables = schedules::testing::reference_tables();
  if (tables.empty()) {
    GTEST_SKIP() << "measured and reference data are absent: " << schedules::testing::reference_folder();
  }
  const auto expected = schedules::testing::expected_results();
  int compared = 0;
  for (const auto& reference : tables) {
    SCOPED_TRACE(reference.file);
    const auto path = schedules::testing::reference_folder() / "comms" / reference.file;
    if (!std::filesystem::exists(path)) {
      EXPECT_EQ(reference.schedule, "dual_pipe") << "there is no lowered table";
      continue;
    }
    ++compared;
    const auto table = make(reference.schedule, schedules::testing::request_for(reference));
    ASSERT_TRUE(table) << table.error().reason;
    const LoweredRows rows = lowered_rows(*table);
    const auto wanted = schedules::testing::read_csv(path);
    ASSERT_EQ(rows.size(), wanted.size());
    std::size_t most_unshards = 0;
    std::size_t sends = 0;
    for (std::size_t rank = 0; rank < rows.size(); ++rank) {
      EXPECT_EQ(with_sorted_evictions(cells(rows[rank])), with_sorted_evictions(wanted[rank])) << "rank " << rank;
      most_unshards = std::max(most_unshards, count(rows[rank], {LoweredType::kUnshard}));
      sends += count(rows[rank], {LoweredType::kSendForward, LoweredType::kSendBackward});
    }
    const auto& row = expected.at(reference.file.substr(0, reference.file.size() - 4));
    EXPECT_EQ(std::to_string(most_unshards), row.at("max_unshards_per_rank"));
    EXPECT_EQ(std::to_string(sends), row.at("total_sends"));
  }
  EXPECT_EQ(compared, 72);
}

// Two directions: each of 2 x (p - 1) stage boundaries passes m / 2 activations and as many gradients.
TEST(LoweredRows, OfDualPipeSendAcrossEveryBoundaryOfBothDirections) {
  constexpr int kRanks = 4;
  constexpr int kMicroBatches = 12;
  const auto table = make("dual_pipe", {kRanks, kMicroBatches, kRanks, {}});
  ASSERT_TRUE(table);
  std::size_t sends = 0;
  std::size_t receives = 0;
  for (const auto& row : lowered_rows(*table)) {
    sends += count(row, {LoweredType::kSendForward, LoweredType::kSendBackward});
    receives += count(row, {LoweredType::kReceiveForward, LoweredType::kReceiveBackward});
    EXPECT_EQ(count(row, {LoweredType::kReduceGradients}), 2U);  // a stage of either direction
  }
  EXPECT_EQ(sends, 2U * 2U * (kRanks - 1) * kMicroBatches / 2);
  EXPECT_EQ(receives, sends);
}

/// Rows of one rank that holds the whole model.
ScheduleTable one_rank(int stages, std::vector<Action> actions) {
  return {stages, 1, schedules::looping_placement(1, stages), {std::move(actions)}, {}, {}};
}

Action forward(int stage, bool paired = false) {
  return {ActionType::kForward, stage, 0, paired};
}

Action backward(int stage) {
  return {ActionType::kBackward, stage, 0};
}

TEST(LoweredRows, KeepTheStagesThatAreUsedNext) {
  const ScheduleTable table = one_rank(3, {forward(0), forward(1), forward(2), backward(2), backward(1), backward(0)});
  EXPECT_EQ(text(lowered_rows(table, 1).front()),
            "0UNSHARD 0F0 0RESHARD 1UNSHARD 1F0 1RESHARD 2UNSHARD 2F0 2B0 2REDUCE_GRAD 2RESHARD 1UNSHARD 1B0 "
            "1REDUCE_GRAD 1RESHARD 0UNSHARD 0B0 0REDUCE_GRAD 0RESHARD");
  // After 0F0 the next two are 1 and 2, then 2 and 1 (kept), then 1 and 0.
  EXPECT_EQ(text(lowered_rows(table, 2).front()),
            "0UNSHARD 1UNSHARD 0F0 0RESHARD 2UNSHARD 1F0 2F0 2B0 2REDUCE_GRAD 2RESHARD 0UNSHARD 1B0 1REDUCE_GRAD "
            "1RESHARD 0B0 0REDUCE_GRAD 0RESHARD");
  EXPECT_EQ(text(lowered_rows(table, 3).front()),
            "0UNSHARD 1UNSHARD 2UNSHARD 0F0 1F0 2F0 2B0 2REDUCE_GRAD 2RESHARD 1B0 1REDUCE_GRAD 1RESHARD 0B0 "
            "0REDUCE_GRAD 0RESHARD");
}

// PyTorch adds both halves of a pair before it looks at the limit.
TEST(LoweredRows, HaveBothStagesOfAPairResidentWhateverTheLimit) {
  ScheduleTable table = one_rank(2, {forward(0, true), forward(1), backward(1), backward(0)});
  table.stages[0].next = -1;  // two models of one stage, so that a pair may hold a forward of each
  table.stages[1].previous = -1;
  EXPECT_EQ(text(lowered_rows(table, 1).front()),
            "0UNSHARD 1UNSHARD (0F0;1F0)OVERLAP_F_B 0RESHARD 1B0 1REDUCE_GRAD 1RESHARD 0UNSHARD 0B0 0REDUCE_GRAD "
            "0RESHARD");
}

TEST(LoweredRows, AppendTheReceiveWhenTheSendIsIssued) {
  const auto table = make("gpipe", {2, 2, 2, {}});
  ASSERT_TRUE(table);
  const LoweredRows rows = lowered_rows(*table);
  EXPECT_EQ(text(rows[0]), "0UNSHARD 0F0 0SEND_F0 0F1 0SEND_F1 0RECV_B0 0B0 0RECV_B1 0B1 0REDUCE_GRAD 0RESHARD");
  // 1F0 is swept right after 0F0 has been sent, 0F1 in the next sweep.
  EXPECT_EQ(text(rows[1]), "1UNSHARD 1RECV_F0 1F0 1RECV_F1 1F1 1B0 1SEND_B0 1B1 1SEND_B1 1REDUCE_GRAD 1RESHARD");
}

TEST(LoweredRows, InsertNothingBetweenStagesOfOneRank) {
  const ScheduleTable table = one_rank(2, {forward(0), forward(1), backward(1), backward(0)});
  const LoweredRows rows = lowered_rows(table);
  EXPECT_EQ(count(rows.front(), {LoweredType::kSendForward, LoweredType::kReceiveForward, LoweredType::kSendBackward,
                                 LoweredType::kReceiveBackward}),
            0U);
  EXPECT_EQ(rows.front().size(), 4U + 2U + 2U + 2U);  // actions, UNSHARD, REDUCE_GRAD, RESHARD
}

TEST(LoweredRows, OfATableThatDeadlocksAreAnInternalErrorThatNamesRankAndAction) {
  auto table = make("gpipe", {2, 1, 2, {}});
  ASSERT_TRUE(table);
  std::swap(table->actions[0][0], table->actions[0][1]);  // B before F
  try {
    (void)lowered_rows(*table);
    FAIL() << "the deadlock was not seen";
  } catch (const error::InternalError& fault) {
    EXPECT_NE(std::string(fault.what()).find("rank 0 never gets to 0B0"), std::string::npos) << fault.what();
  }
  EXPECT_THROW((void)lowered_rows(*make("gpipe", {2, 1, 2, {}}), 0), error::InternalError);
}

// The limit is generous for slow machines; a scan that is quadratic in ranks, stages or actions takes minutes.
TEST(LoweredRows, OfAMillionActionsTakeSeconds) {
  const auto start = std::chrono::steady_clock::now();
  std::size_t actions = 0;
  for (const auto& request : {schedules::ScheduleRequest{100'000, 2, 100'000, {}}, {4, 100'000, 4, {}}}) {
    const auto table = make("one_forward_one_backward", request);
    ASSERT_TRUE(table);
    for (const auto& row : lowered_rows(*table, 100'000)) {
      actions += row.size();
    }
  }
  EXPECT_GT(actions, 2'000'000U);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  EXPECT_LT(elapsed.count(), 20);
}

TEST(LoweredActionText, NamesTheTypesAsPyTorchDoes) {
  EXPECT_EQ(to_string({LoweredType::kForward, 0, 3}), "0F3");
  EXPECT_EQ(to_string({LoweredType::kUnshard, 2}), "2UNSHARD");
  EXPECT_EQ(to_string({LoweredType::kReshard, 2}), "2RESHARD");
  EXPECT_EQ(to_string({LoweredType::kReduceGradients, 12}), "12REDUCE_GRAD");
  EXPECT_EQ(to_string({LoweredType::kSendForward, 1, 4}), "1SEND_F4");
  EXPECT_EQ(to_string({LoweredType::kReceiveBackward, 1, 0}), "1RECV_B0");
  EXPECT_TRUE(is_compute(LoweredType::kWeightGradient));
  EXPECT_FALSE(is_compute(LoweredType::kUnshard));
}

}  // namespace
}  // namespace lamina::schedule_tables
