#include "sim/schedule_tables/checker.hpp"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/error/error.hpp"
#include "sim/schedule_tables/pytorch_csv.hpp"
#include "tests/support/schedule_rows.hpp"
#include "tests/unit/schedules/reference_tables.hpp"
#include "tests/unit/schedules/table_text.hpp"

namespace lamina::schedule_tables {
namespace {

using schedules::Action;
using schedules::ActionType;
using schedules::ScheduleTable;
using schedules::testing::make;
using tests::actions_of;
using tests::table_of;

/// Two ranks, two micro-batches, 1F1B.
ScheduleTable small() {
  return table_of({"0F0 0F1 0B0 0B1", "1F0 1B0 1F1 1B1"}, 2);
}

void expect_fault(const ScheduleTable& table, int rank, std::size_t position, const std::string& text) {
  const auto fault = find_fault(table);
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->text, text);
  EXPECT_EQ(fault->rank, rank);
  EXPECT_EQ(fault->position, position);
}

ScheduleTable changed(std::size_t rank, const std::string& row) {
  ScheduleTable table = small();
  table.actions[rank] = actions_of(row);
  return table;
}

TEST(TableChecker, PassesAValidTable) {
  EXPECT_FALSE(find_fault(small()));
  EXPECT_FALSE(find_fault(table_of({"0F0 0F1 0I0 0W0 0B1", "1F0 1I0 1F1 1W0 1B1"}, 2)));
}

TEST(TableChecker, NamesAStageThatDoesNotExist) {
  expect_fault(changed(1, "1F0 1B0 2F1 1B1"), 1, 2, "Rank 1 computes 2F1, but there are only stages 0 to 1.");
  expect_fault(changed(1, "1F0 1B0 -1F1 1B1"), 1, 2, "Rank 1 computes -1F1, but there are only stages 0 to 1.");
}

TEST(TableChecker, NamesTheOwnerOfAStageOnAnotherRank) {
  expect_fault(changed(1, "1F0 1B0 0F1 1B1"), 1, 2, "Rank 1 computes 0F1, but stage 0 belongs to rank 0.");
}

TEST(TableChecker, NamesBothPlacesOfAnActionThatIsThereTwice) {
  expect_fault(changed(1, "1F0 1B0 1F1 1B1 1F0"), 1, 4, "Rank 1 computes 1F0 twice, as actions 1 and 5 of its row.");
}

TEST(TableChecker, RefusesAWholeBackwardBesideItsParts) {
  expect_fault(changed(1, "1F0 1B0 1F1 1B1 1W1"), 1, 4, "Rank 1 computes 1B1 and also 1W1, which is a part of it.");
}

TEST(TableChecker, NamesTheRangeOfMicroBatches) {
  expect_fault(changed(1, "1F0 1B0 1F1 1B1 1F2"), 1, 4, "Rank 1 computes 1F2, but stage 1 has micro-batches 0 to 1.");
  expect_fault(changed(0, "0F0 0F-3 0B0 0B1"), 0, 1, "Rank 0 computes 0F-3, but stage 0 has micro-batches 0 to 1.");
}

TEST(TableChecker, NamesWhatIsMissingAtTheEndOfTheRow) {
  expect_fault(changed(1, "1F0 1B0 1B1"), 1, 3, "Rank 1 never computes 1F1.");
  expect_fault(changed(1, ""), 1, 0, "Rank 1 never computes 1F0.");
  expect_fault(changed(1, "1F0 1B0 1F1"), 1, 3,
               "Rank 1 computes 1F1 but never its backward: neither 1B1 nor 1I1 and 1W1.");
  expect_fault(changed(1, "1F0 1B0 1F1 1I1"), 1, 4, "Rank 1 computes 1I1 but never 1W1.");
  expect_fault(changed(1, "1F0 1B0 1F1 1W1"), 1, 4, "Rank 1 computes 1W1 but never 1I1.");
}

TEST(TableChecker, NamesWhatComesBeforeItsOwnForwardOrInputGradient) {
  expect_fault(changed(1, "1F0 1B0 1B1 1F1"), 1, 2, "Rank 1 computes 1B1 before 1F1, which it needs.");
  expect_fault(changed(1, "1F0 1B0 1F1 1W1 1I1"), 1, 3, "Rank 1 computes 1W1 before 1I1, which it needs.");
}

TEST(TableChecker, NamesTheCycleOfADeadlock) {
  expect_fault(table_of({"0F0 0B0 0F1 0B1", "1F1 1B1 1F0 1B0"}, 2), 0, 1,
               "The rows deadlock. Rank 0 is at 0B0 and waits for 1B0 of rank 1, which is at 1F1 and waits for 0F1 of "
               "rank 0. None of them can go on.");
}

TEST(TableChecker, NamesARankThatWaitsForALaterActionOfItsOwn) {
  ScheduleTable table = table_of({"1F0 0F0 1B0 0B0"}, 1, 2);
  expect_fault(table, 0, 0, "The rows deadlock. Rank 0 is at 1F0 and waits for 0F0, which comes later in its own row.");
}

TEST(TableChecker, ShortensACycleThroughManyRanks) {
  // Every rank of a loop of 40 starts with its second chunk, whose input passes all ranks first.
  std::vector<std::string> rows;
  for (int rank = 0; rank < 40; ++rank) {
    rows.push_back(fmt::format("{1}F0 {0}F0 {1}B0 {0}B0", rank, rank + 40));
  }
  const auto fault = find_fault(table_of(rows, 1, 2));
  ASSERT_TRUE(fault);
  EXPECT_THAT(fault->text, ::testing::HasSubstr("and so on through 28 more ranks back to rank 0"));
}

TEST(TableChecker, LetsAPairStartWhenTheInputsOfBothHalvesAreThere) {
  // Rank 0 pairs 0F1 with 0B0, which needs 1B0; rank 1 starts it after 1F0 alone in the first table, after 1F1 too in
  // the second.
  EXPECT_FALSE(find_fault(table_of({"0F0 (0F1;0B0) 0B1", "1F0 1B0 1F1 1B1"}, 2)));
  expect_fault(table_of({"0F0 (0F1;0B0) 0B1", "1F0 1F1 1B0 1B1"}, 2), 0, 1,
               "The rows deadlock. Rank 0 is at 0F1 paired with 0B0 and waits for 1B0 of rank 1, which is at 1F1 and "
               "waits for 0F1 of rank 0. None of them can go on.");
}

TEST(TableChecker, RefusesPairsThatCannotBe) {
  expect_fault(changed(1, "1F0 1B0 (1F1;1B1)"), 1, 2, "Rank 1 pairs 1F1 with 1B1, but one of them needs the other.");
  expect_fault(changed(1, "1F0 1B0 1F1 (1B1"), 1, 3, "Rank 1 pairs 1B1, its last action, with the next one.");
  expect_fault(changed(1, "1F0 (1B0 (1F1 1B1"), 1, 1,
               "Rank 1 pairs 1B0 with 1F1, which is paired as well: a pair has two actions.");
}

TEST(TableChecker, RefusesStagesThatDoNotFitTogether) {
  ScheduleTable table = small();
  table.stages[1].rank = 2;
  expect_fault(table, 0, 0, "Stage 1 is on rank 2, but there are only ranks 0 to 1.");
  table = small();
  table.stages[1].previous = 5;
  expect_fault(table, 0, 0, "Stage 0 with model chunk 0 sends to stage 1, which holds chunk 1 and receives from 5.");
  table = small();
  table.stages[0].next = 2;
  expect_fault(table, 0, 0, "Stage 0 lies between stages -1 and 2, but there are only stages 0 to 1.");
  table = small();
  table.stages[1].model_chunk = 7;
  EXPECT_TRUE(find_fault(table));
  table = small();
  table.model_chunks = 3;
  EXPECT_TRUE(find_fault(table));
  table.model_chunks = 0;
  EXPECT_TRUE(find_fault(table));
  EXPECT_TRUE(find_fault(ScheduleTable{}));
}

/// A table that promises a billion micro-batches and has two costs neither time nor memory.
TEST(TableChecker, NamesTheFirstMissingOfABillionMicroBatches) {
  ScheduleTable table = small();
  table.micro_batches = 1'000'000'000;
  expect_fault(table, 0, 4, "Rank 0 never computes 0F2.");
}

ScheduleTable one_forward_one_backward(int ranks, int micro_batches) {
  return *make("one_forward_one_backward", {ranks, micro_batches, ranks, {}});
}

/// PyTorch at commit 00722e648b: the last rank's counter of forwards is incremented before its first use.
TEST(TableChecker, SaysThatPyTorchMisnumbersTheLastRowOf1F1B) {
  ScheduleTable table = one_forward_one_backward(4, 8);
  for (Action& action : table.actions[3]) {
    action.micro_batch += action.type == ActionType::kForward ? 1 : 0;
  }
  const std::string text =
      "The forwards of stage 3 on rank 3 are numbered 1 to 8 instead of 0 to 7: PyTorch's text form of Schedule1F1B "
      "has "
      "this known misnumbering in the last row; subtract 1.";
  expect_fault(table, 3, 0, text);
  table.micro_batches = 9;  // what a reader concludes from the highest number
  expect_fault(table, 3, 0, text);
}

TEST(TableChecker, SaysThatARowOrATableCountsMicroBatchesFromOne) {
  ScheduleTable table = one_forward_one_backward(4, 8);
  const auto count_from_one = [&table](std::size_t rank) {
    for (Action& action : table.actions[rank]) {
      ++action.micro_batch;
    }
  };
  count_from_one(2);
  const std::string row = "The micro-batches of stage 2 on rank 2 are numbered 1 to 8 instead of 0 to 7.";
  expect_fault(table, 2, 0, row);
  table.micro_batches = 9;
  expect_fault(table, 2, 0, row);
  count_from_one(0);
  count_from_one(1);
  count_from_one(3);
  expect_fault(table, 0, 0, "The micro-batches of stage 0 on rank 0 are numbered 1 to 8 instead of 0 to 7.");
}

TEST(TableChecker, DoesNotTakeALostMicroBatchForCountingFromOne) {
  ScheduleTable table = one_forward_one_backward(2, 4);
  std::erase_if(table.actions[1], [](const Action& action) { return action.micro_batch == 0; });
  expect_fault(table, 1, 6, "Rank 1 never computes 1F0.");
}

/// The rows of Megatron-LM's and PyTorch's interleaved 1F1B for a group of any size, also those that our schedule
/// refuses: forwards in groups of g, chunk by chunk; warm-up of min(v m, (v - 1) g + 2 (p - 1 - r)).
ScheduleTable interleaved(int ranks, int chunks, int group, int micro_batches) {
  ScheduleTable table;
  table.model_chunks = ranks * chunks;
  table.micro_batches = micro_batches;
  table.stages = schedules::looping_placement(ranks, table.model_chunks);
  std::vector<std::pair<int, int>> order;  // micro-batch, chunk
  for (int first = 0; first < micro_batches; first += group) {
    for (int chunk = 0; chunk < chunks; ++chunk) {
      for (int i = first; i < std::min(first + group, micro_batches); ++i) {
        order.emplace_back(i, chunk);
      }
    }
  }
  const int passes = chunks * micro_batches;
  for (int rank = 0; rank < ranks; ++rank) {
    const int warm_up = std::min(passes, (chunks - 1) * group + 2 * (ranks - 1 - rank));
    std::vector<Action> row;
    for (int step = 0; step < passes + warm_up; ++step) {
      if (step < passes) {
        const auto [micro_batch, chunk] = order[static_cast<std::size_t>(step)];
        row.push_back({ActionType::kForward, chunk * ranks + rank, micro_batch});
      }
      if (step >= warm_up) {
        const auto [micro_batch, chunk] = order[static_cast<std::size_t>(step - warm_up)];
        row.push_back({ActionType::kBackward, (chunks - 1 - chunk) * ranks + rank, micro_batch});
      }
    }
    table.actions.push_back(std::move(row));
  }
  return table;
}

/// Megatron-LM issue 1829: groups that are shorter than the pipeline hang.
TEST(TableChecker, NamesTheCycleOfInterleavedGroupsShorterThanThePipeline) {
  EXPECT_FALSE(find_fault(interleaved(4, 2, 4, 8)));
  EXPECT_FALSE(find_fault(interleaved(4, 2, 8, 8)));
  // Rank 0 is in its warm-up of 8 forwards: micro-batches 0 and 1 on stages 0 and 4, then 2 and 3. Rank 3 has a warm-up
  // of 2, so that its third backward, of stage 3, comes before its forward of micro-batch 3 there.
  expect_fault(interleaved(4, 2, 2, 8), 0, 7,
               "The rows deadlock. Rank 0 is at 4F3 and waits for 3F3 of rank 3, which is at 3B0 and waits for 4B0 of "
               "rank 0. None of them can go on.");
}

TEST(CheckOfAnImportedTable, SaysThatShortGroupsDeadlockAndNotThatTheyAreTwoCopies) {
  // Stages 4 to 7 run on ranks 0 to 3 as stages 0 to 3 do: no second copy of the model that runs the other way.
  const std::string text = to_pytorch_csv(interleaved(4, 2, 2, 8));
  const auto fault_of = [&text](int copies) {
    try {
      (void)read_pytorch_csv(text, "g2.csv", copies);
    } catch (const error::ScenarioError& found) {
      return found.fault();
    }
    return error::ScenarioFault{};
  };
  EXPECT_THAT(fault_of(1).problem, testing::HasSubstr("The rows deadlock"));
  EXPECT_THAT(fault_of(1).allowed, testing::HasSubstr("at least as many micro-batches as there are ranks"));
  EXPECT_THAT(fault_of(2).problem, testing::HasSubstr("do not run opposite ways"));
}

TEST(TableChecker, PassesEveryReferenceTable) {
  const auto tables = schedules::testing::reference_tables();
  if (tables.empty()) {
    GTEST_SKIP() << "measured and reference data are absent: " << schedules::testing::reference_folder();
  }
  for (const auto& reference : tables) {
    const auto table = make(reference.schedule, schedules::testing::request_for(reference));
    ASSERT_TRUE(table) << reference.file;
    const auto fault = find_fault(*table);
    EXPECT_FALSE(fault) << reference.file << ": " << fault->text;
  }
}

TEST(TableChecker, ChecksAMillionActionsInASecondOrTwo) {
  const ScheduleTable table = one_forward_one_backward(64, 8192);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_FALSE(find_fault(table));
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  EXPECT_LT(elapsed.count(), 5) << "on a busy machine, at low optimisation";
}

}  // namespace
}  // namespace lamina::schedule_tables
