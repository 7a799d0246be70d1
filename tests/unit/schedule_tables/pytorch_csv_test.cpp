#include "sim/schedule_tables/pytorch_csv.hpp"

#include <chrono>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "sim/schedule_tables/lowered_table.hpp"
#include "tests/unit/schedules/reference_tables.hpp"
#include "tests/unit/schedules/table_text.hpp"

namespace lamina::schedule_tables {
namespace {

using schedules::ActionType;
using schedules::LoweredRows;
using schedules::LoweredType;
using schedules::ScheduleTable;
using schedules::testing::make;

std::string content(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void expect_same_table(const ScheduleTable& read, const ScheduleTable& made) {
  EXPECT_EQ(read.model_chunks, made.model_chunks);
  EXPECT_EQ(read.micro_batches, made.micro_batches);
  EXPECT_EQ(read.actions, made.actions);
  ASSERT_EQ(read.stages.size(), made.stages.size());
  for (std::size_t i = 0; i < read.stages.size(); ++i) {
    EXPECT_EQ(read.stages[i].rank, made.stages[i].rank) << "stage " << i;
    EXPECT_EQ(read.stages[i].model_chunk, made.stages[i].model_chunk) << "stage " << i;
    EXPECT_EQ(read.stages[i].previous, made.stages[i].previous) << "stage " << i;
    EXPECT_EQ(read.stages[i].next, made.stages[i].next) << "stage " << i;
  }
}

int copies_of(const std::string& schedule) {
  return schedule == "dual_pipe" ? 2 : 1;
}

TEST(PyTorchCsv, ReadsTheReferenceTablesAsWhatOurSchedulesMakeAndWritesThemByteForByte) {
  const auto tables = schedules::testing::reference_tables();
  if (tables.empty()) {
    GTEST_SKIP() << "measured and reference data are absent: " << schedules::testing::reference_folder();
  }
  for (const auto& reference : tables) {
    SCOPED_TRACE(reference.file);
    const auto path = schedules::testing::reference_folder() / "compute" / reference.file;
    const ScheduleTable read = load_pytorch_csv(path, copies_of(reference.schedule));
    const auto made = make(reference.schedule, schedules::testing::request_for(reference));
    ASSERT_TRUE(made) << made.error().reason;
    expect_same_table(read, *made);
    EXPECT_TRUE(read.lowered.empty());
    EXPECT_EQ(to_pytorch_csv(read), content(path));
  }
}

TEST(PyTorchCsv, ReadsAndWritesTheLoweredReferenceTables) {
  const auto tables = schedules::testing::reference_tables();
  if (tables.empty()) {
    GTEST_SKIP() << "measured and reference data are absent: " << schedules::testing::reference_folder();
  }
  int read_files = 0;
  for (const auto& reference : tables) {
    SCOPED_TRACE(reference.file);
    const auto path = schedules::testing::reference_folder() / "comms" / reference.file;
    if (!std::filesystem::exists(path)) {
      continue;
    }
    ++read_files;
    const ScheduleTable read = load_pytorch_csv(path);
    const auto made = make(reference.schedule, schedules::testing::request_for(reference));
    ASSERT_TRUE(made) << made.error().reason;
    expect_same_table(read, *made);
    EXPECT_EQ(to_pytorch_csv(read.lowered), content(path));
  }
  EXPECT_EQ(read_files, 72);
}

TEST(PyTorchCsv, ReadsBackWhatItWritesOfEverySchedule) {
  const auto catalog = schedules::builtin_schedules();
  int compared = 0;
  for (const auto& entry : catalog.entries()) {
    SCOPED_TRACE(entry.info.name);
    schedules::ScheduleRequest request{4, 8, 8, {}};
    for (const catalog::ParameterSpec& parameter : entry.info.parameters) {
      if (parameter.choices.empty()) {
        request.parameters.set_number(parameter.name, std::stod(parameter.default_value));
      } else {
        request.parameters.set_choice(parameter.name, parameter.default_value);
      }
    }
    const auto made = entry.implementation->table(request);
    if (!made) {
      continue;  // accumulate has one rank
    }
    ++compared;
    const int copies = copies_of(entry.info.name);
    expect_same_table(read_pytorch_csv(to_pytorch_csv(*made), "x.csv", copies), *made);
    const LoweredRows rows = lowered_rows(*made);
    const ScheduleTable read = read_pytorch_csv(to_pytorch_csv(rows), "x.csv", copies);
    expect_same_table(read, *made);
    EXPECT_EQ(read.lowered, rows);
  }
  EXPECT_GE(compared, 13);
}

// 0F0 0B0 and 1F0 1B0: what every spelling below says.
class SameTable : public testing::TestWithParam<std::pair<const char*, std::string>> {};

TEST_P(SameTable, IsReadFromEverySpellingTheGrammarAllows) {
  const ScheduleTable table = read_pytorch_csv(GetParam().second, "x.csv");
  EXPECT_EQ(to_pytorch_csv(table), "0F0,0B0\n1F0,1B0\n");
  EXPECT_TRUE(table.lowered.empty());
}

INSTANTIATE_TEST_SUITE_P(Spellings, SameTable,
                         testing::Values(std::pair{"LineFeeds", "0F0,0B0\n1F0,1B0\n"},
                                         std::pair{"CarriageReturns", "0F0,0B0\r\n1F0,1B0\r\n"},
                                         std::pair{"NoLastLineEnd", "0F0,0B0\n1F0,1B0"},
                                         std::pair{"IdleSlots", "0F0,,,0B0\n,1F0,1B0,\n"},
                                         std::pair{"EmptyLinesAtTheEnd", "0F0,0B0\n1F0,1B0\n\n\r\n  \n"},
                                         std::pair{"ByteOrderMark",
                                                   "\xEF\xBB\xBF"
                                                   "0F0,0B0\n1F0,1B0\n"},
                                         std::pair{"QuotedCells", "\"0F0\",\"0B0\"\n\"1F0\",\"\",\"1B0\"\n"},
                                         std::pair{"Spaces", " 0F0 ,\t0B0\n1F0, 1B0 \n"},
                                         std::pair{"LeadingZeros", "00F0,0B00000000000000000000\n01F0,1B0\n"}),
                         [](const auto& test) { return test.param.first; });

TEST(PyTorchCsv, ReadsPairsAsActionsThatAreIssuedTogether) {
  const ScheduleTable table = read_pytorch_csv("0F0,1F0,1I0,( 0F1 ; 0B0 )OVERLAP_F_B,1W0,1F1,1B1,0B1\n", "x.csv");
  const auto& row = table.actions.front();
  ASSERT_EQ(row.size(), 9U);
  EXPECT_EQ(row[3], (schedules::Action{ActionType::kForward, 0, 1, true}));
  EXPECT_EQ(row[4], (schedules::Action{ActionType::kBackward, 0, 0, false}));
  EXPECT_EQ(to_pytorch_csv(table), "0F0,1F0,1I0,(0F1;0B0)OVERLAP_F_B,1W0,1F1,1B1,0B1\n");
}

// The first communication may stand in any row; earlier rows are in `lowered` too.
TEST(PyTorchCsv, FillsLoweredRowsFromAFileWithAnyCommunication) {
  const ScheduleTable table = read_pytorch_csv("0F0,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n", "x.csv");
  ASSERT_EQ(table.lowered.size(), 2U);
  EXPECT_EQ(table.lowered[0][1], (schedules::LoweredAction{LoweredType::kSendForward, 0, 0}));
  EXPECT_EQ(table.lowered[1][0], (schedules::LoweredAction{LoweredType::kReceiveForward, 1, 0}));
  EXPECT_EQ(to_pytorch_csv(table), "0F0,0B0\n1F0,1B0\n");
}

TEST(PyTorchCsv, TakesTheSecondHalfOfTheStagesAsASecondModelWhenTold) {
  const std::string text = "0F0,3F0,3B0,0B0\n2F0,1F0,1B0,2B0\n";
  const ScheduleTable table = read_pytorch_csv(text, "x.csv", 2);
  EXPECT_EQ(table.model_chunks, 2);
  EXPECT_EQ(table.micro_batches, 2);  // one in each direction
  EXPECT_EQ(table.stages[2].rank, 1);
  EXPECT_EQ(table.stages[2].model_chunk, 0);
  EXPECT_EQ(table.stages[2].previous, -1);
  EXPECT_EQ(table.stages[1].next, -1);
}

// The limit is generous for slow machines; a reader that is quadratic in cells or ranks takes minutes.
TEST(PyTorchCsv, ReadsAMillionCellsInSeconds) {
  const auto start = std::chrono::steady_clock::now();
  for (const auto& request : {schedules::ScheduleRequest{100'000, 4, 100'000, {}}, {4, 100'000, 4, {}}}) {
    const auto table = make("one_forward_one_backward", request);
    ASSERT_TRUE(table);
    EXPECT_EQ(read_pytorch_csv(to_pytorch_csv(*table), "x.csv").actions, table->actions);
  }
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  EXPECT_LT(elapsed.count(), 20);
}

}  // namespace
}  // namespace lamina::schedule_tables
