#include <gtest/gtest.h>

#include "sim/schedule_tables/checker.hpp"
#include "tests/support/schedule_rows.hpp"

namespace lamina::schedule_tables {
namespace {

using schedules::LoweredAction;
using schedules::LoweredType;
using schedules::ScheduleTable;

constexpr LoweredType kF = LoweredType::kForward;
constexpr LoweredType kB = LoweredType::kBackward;
constexpr LoweredType kSendF = LoweredType::kSendForward;
constexpr LoweredType kReceiveF = LoweredType::kReceiveForward;
constexpr LoweredType kSendB = LoweredType::kSendBackward;
constexpr LoweredType kReceiveB = LoweredType::kReceiveBackward;
constexpr LoweredType kUnshard = LoweredType::kUnshard;
constexpr LoweredType kReshard = LoweredType::kReshard;
constexpr LoweredType kReduce = LoweredType::kReduceGradients;

/// Two ranks, two micro-batches, GPipe, with every kind of communication.
ScheduleTable small() {
  ScheduleTable table = tests::table_of({"0F0 0F1 0B0 0B1", "1F0 1F1 1B0 1B1"}, 2);
  table.lowered = {{{kUnshard, 0},
                    {kF, 0, 0},
                    {kSendF, 0, 0},
                    {kF, 0, 1},
                    {kSendF, 0, 1},
                    {kReceiveB, 0, 0},
                    {kB, 0, 0},
                    {kReceiveB, 0, 1},
                    {kB, 0, 1},
                    {kReduce, 0},
                    {kReshard, 0}},
                   {{kUnshard, 1},
                    {kReceiveF, 1, 0},
                    {kF, 1, 0},
                    {kReceiveF, 1, 1},
                    {kF, 1, 1},
                    {kB, 1, 0},
                    {kSendB, 1, 0},
                    {kB, 1, 1},
                    {kReduce, 1},
                    {kSendB, 1, 1},
                    {kReshard, 1}}};
  return table;
}

/// Removes the action at a place.
ScheduleTable without(std::size_t rank, std::size_t position) {
  ScheduleTable table = small();
  table.lowered[rank].erase(table.lowered[rank].begin() + static_cast<std::ptrdiff_t>(position));
  return table;
}

/// Inserts an action before a place.
ScheduleTable with(std::size_t rank, std::size_t position, const LoweredAction& action) {
  ScheduleTable table = small();
  table.lowered[rank].insert(table.lowered[rank].begin() + static_cast<std::ptrdiff_t>(position), action);
  return table;
}

/// Moves an action to an earlier or later place.
ScheduleTable moved(std::size_t rank, std::size_t from, std::size_t to) {
  const LoweredAction action = small().lowered[rank][from];
  ScheduleTable table = without(rank, from);
  table.lowered[rank].insert(table.lowered[rank].begin() + static_cast<std::ptrdiff_t>(to), action);
  return table;
}

void expect_fault(const ScheduleTable& table, int rank, std::size_t position, const std::string& text) {
  const auto fault = find_lowered_fault(table);
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->text, text);
  EXPECT_EQ(fault->rank, rank);
  EXPECT_EQ(fault->position, position);
}

TEST(LoweredChecker, PassesAValidTable) {
  const auto fault = find_lowered_fault(small());
  EXPECT_FALSE(fault) << fault->text;
}

TEST(LoweredChecker, NamesComputeThatDiffersFromTheTable) {
  expect_fault(without(0, 6), 0, 7, "Rank 0 computes 0B1 where its schedule has 0B0.");
  expect_fault(without(0, 8), 0, 10, "Rank 0 never computes 0B1 of its schedule.");
  expect_fault(with(1, 11, {kF, 1, 1}), 1, 11, "Rank 1 computes 1F1 where its schedule has nothing more.");
  ScheduleTable table = small();
  table.lowered.pop_back();
  expect_fault(table, 0, 0, "The table has 1 ranks with communication and 2 without.");
}

TEST(LoweredChecker, NamesAnActionOnTheWrongRankOrOutOfRange) {
  expect_fault(with(0, 3, {kSendF, 1, 0}), 0, 3, "Rank 0 issues 1SEND_F0, but stage 1 belongs to rank 1.");
  expect_fault(with(0, 3, {kUnshard, 2}), 0, 3, "Rank 0 issues 2UNSHARD, but the last stage is 1.");
  expect_fault(with(0, 3, {kSendF, 0, 2}), 0, 3, "Rank 0 issues 0SEND_F2, but stage 0 has micro-batches 0 to 1.");
  expect_fault(with(0, 3, {kSendF, 0, 0}), 0, 3, "Rank 0 issues 0SEND_F0 twice, as actions 3 and 4 of its row.");
}

TEST(LoweredChecker, NamesTheMissingEndOfAMessage) {
  expect_fault(without(0, 2), 1, 1, "Rank 1 issues 1RECV_F0, but rank 0 never issues 0SEND_F0.");
  expect_fault(without(1, 1), 0, 2, "Rank 0 issues 0SEND_F0, but rank 1 never issues 1RECV_F0.");
  expect_fault(without(1, 6), 0, 5, "Rank 0 issues 0RECV_B0, but rank 1 never issues 1SEND_B0.");
  ScheduleTable table = without(0, 2);
  table.lowered[1].erase(table.lowered[1].begin() + 1);
  expect_fault(table, 1, 1,
               "Rank 1 computes 1F0, but what it needs of rank 0 is never sent: 0SEND_F0 and 1RECV_F0 are missing.");
}

TEST(LoweredChecker, NamesAMessageWithoutAnotherEnd) {
  expect_fault(with(1, 5, {kSendF, 1, 0}), 1, 5,
               "Rank 1 issues 1SEND_F0, which has no other end: the model ends there.");
  expect_fault(with(0, 1, {kReceiveF, 0, 0}), 0, 1,
               "Rank 0 issues 0RECV_F0, which has no other end: the model ends there.");
  ScheduleTable table = tests::table_of({"0F0 1F0 1B0 0B0"}, 1, 2);
  table.lowered = {{{kF, 0, 0}, {kSendF, 0, 0}, {kF, 1, 0}, {kB, 1, 0}, {kB, 0, 0}}};
  expect_fault(table, 0, 1, "Rank 0 issues 0SEND_F0, which has no other end: the next stage is on the same rank.");
  table.lowered = {{{kF, 0, 0}, {kReceiveF, 1, 0}, {kF, 1, 0}, {kB, 1, 0}, {kB, 0, 0}}};
  expect_fault(table, 0, 1, "Rank 0 issues 1RECV_F0, which has no other end: the stage before is on the same rank.");
}

TEST(LoweredChecker, NamesAMessageThatIsTooEarlyOrTooLate) {
  expect_fault(moved(0, 2, 1), 0, 1, "Rank 0 issues 0SEND_F0 before 0F0, which makes what is sent.");
  expect_fault(moved(1, 1, 2), 1, 2, "Rank 1 issues 1RECV_F0 after 1F0, which needs it.");
}

TEST(LoweredChecker, NamesMessagesThatOvertakeEachOther) {
  expect_fault(moved(1, 3, 1), 1, 2,
               "Rank 1 issues 1RECV_F0 after 1RECV_F1, but rank 0 sends them the other way round; messages between two "
               "ranks must be received in the order in which they are sent.");
}

TEST(LoweredChecker, NamesWeightsThatAreNotThere) {
  expect_fault(without(0, 0), 0, 0,
               "Rank 0 computes 0F0 without its weights: there is no UNSHARD of the stage before it.");
  expect_fault(with(0, 4, {kUnshard, 0}), 0, 4, "Rank 0 issues 0UNSHARD while its weights are there already.");
  expect_fault(with(0, 11, {kReshard, 0}), 0, 11, "Rank 0 issues 0RESHARD while its weights are not there.");
  expect_fault(with(0, 5, {kReshard, 0}), 0, 7,
               "Rank 0 computes 0B0 without its weights: there is no UNSHARD of the stage before it.");
}

TEST(LoweredChecker, LetsARankWithoutShardingCompute) {
  ScheduleTable table = without(0, 10);
  table.lowered[0].erase(table.lowered[0].begin());
  const auto fault = find_lowered_fault(table);
  EXPECT_FALSE(fault) << fault->text;
}

TEST(LoweredChecker, NamesAReductionThatIsMissingTwiceOrTooEarly) {
  expect_fault(without(1, 8), 1, 10, "Rank 1 never issues 1REDUCE_GRAD, while other stages are reduced.");
  expect_fault(with(1, 10, {kReduce, 1}), 1, 10,
               "Rank 1 issues 1REDUCE_GRAD after the gradients of stage 1 were reduced.");
  expect_fault(moved(1, 8, 7), 1, 8, "Rank 1 issues 1B1 after the gradients of stage 1 were reduced.");
}

TEST(LoweredChecker, RefusesCommunicationInsideAPair) {
  ScheduleTable table = tests::table_of({"0F0 (0F1;0B0) 0B1"}, 2);
  table.lowered = {{{kF, 0, 0}, {kF, 0, 1, true}, {kReduce, 0}, {kB, 0, 0}, {kB, 0, 1}}};
  expect_fault(table, 0, 2, "Rank 0 issues 0REDUCE_GRAD inside a pair.");
}

TEST(LoweredChecker, NamesTheCycleOfReceivesThatAreIssuedTooEarly) {
  expect_fault(
      moved(0, 5, 1), 0, 1,
      "The rows deadlock when each receive waits for its message before the next action. Rank 0 is at 0RECV_B0 "
      "and waits for 1SEND_B0 of rank 1, which is at 1RECV_F0 and waits for 0SEND_F0 of rank 0. None of them "
      "can go on.");
}

}  // namespace
}  // namespace lamina::schedule_tables
