// Files that the reader refuses: place and message.
#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schedules/schedule.hpp"
#include "sim/error/error.hpp"
#include "sim/schedule_tables/pytorch_csv.hpp"
#include "tests/support/paths.hpp"

namespace lamina::schedule_tables {
namespace {

using testing::HasSubstr;

error::ScenarioFault fault_of(const std::string& text, int model_copies = 1) {
  try {
    (void)read_pytorch_csv(text, "x.csv", model_copies);
  } catch (const error::ScenarioError& fault) {
    return fault.fault();
  }
  return {};
}

struct Refused {
  std::string name;
  std::string text;
  int line;
  int column;
  std::string problem;
  std::string read;
  std::string allowed;
};

class RefusedFile : public testing::TestWithParam<Refused> {};

TEST_P(RefusedFile, IsBlamedAtTheCharacterThatIsWrong) {
  const error::ScenarioFault fault = fault_of(GetParam().text);
  EXPECT_EQ(fault.location.file, "x.csv");
  EXPECT_EQ(fault.location.line, GetParam().line);
  EXPECT_EQ(fault.location.column, GetParam().column);
  EXPECT_THAT(fault.problem, HasSubstr(GetParam().problem));
  EXPECT_EQ(fault.read, GetParam().read);
  EXPECT_THAT(fault.allowed, HasSubstr(GetParam().allowed));
}

constexpr const char* kTypes = "F, B, I, W, UNSHARD, RESHARD, REDUCE_GRAD, SEND_F, RECV_F, SEND_B, RECV_B";

INSTANTIATE_TEST_SUITE_P(
    Cells, RefusedFile,
    testing::Values(
        Refused{"UnknownType", "0F0,0B0\n0F1,4X2", 2, 6, "no action type \"X\"", "\"4X2\"", kTypes},
        Refused{"NoType", "0F0,42", 1, 7, "type of the action is missing", "\"42\"", kTypes},
        Refused{"OldWholeBackward", "0F0,0BW0", 1, 6, "older PyTorch", "\"0BW0\"", "rename every B to I, then BW to B"},
        Refused{"LargeStage", "0F0,1000001F0", 1, 5, "stage number is too large", "\"1000001F0\"", "0 to 1000000"},
        Refused{"HugeMicroBatch", "0F99999999999999999999", 1, 3, "micro-batch number is too large",
                "\"0F99999999999999999999\"", "0 to 1000000"},
        Refused{"NoMicroBatch", "0F0,0B", 1, 7, "micro-batch number after B is missing", "\"0B\"", "0F3"},
        Refused{"NegativeMicroBatch", "0F-1", 1, 3, "micro-batch number after F is missing", "\"0F-1\"", "0F3"},
        Refused{"MicroBatchOfUnshard", "0UNSHARD3", 1, 9, "UNSHARD has no micro-batch", "\"0UNSHARD3\"", "0UNSHARD"},
        Refused{"NoStage", "F0", 1, 1, "starts with the stage number", "\"F0\"", "0F3"},
        Refused{"Junk", "0F0,0B0x", 1, 8, "more text after the action", "\"0B0x\"", "comma"},
        Refused{"OtherSeparator", "0F0;0B0", 1, 4, "more text after the action", "\"0F0;0B0\"", "comma"},
        Refused{"OpenQuote", "\"0F0,0B0\"", 1, 5, "quoted cell does not end", "\"\"0F0\"", "double quote"},
        Refused{"TextAfterQuote", "\"0F0\"1", 1, 6, "more text after the action", "\"\"0F0\"1\"", "comma"},
        Refused{"CarriageReturnAlone", "0F0\r0B0\n", 1, 4, "carriage return", "\"0F0\"", "LF"},
        Refused{"NulByte", std::string("0F0,\0", 5), 1, 5, "byte 0x00", "\"\\x00\"", "0F3"},
        Refused{"NulByteAfterAction", std::string("0F0\0,0B0", 8), 1, 4, "more text", "\"0F0\\x00\"", "comma"},
        Refused{"Utf16",
                std::string("\xFF\xFE"
                            "0\0F\0",
                            6),
                1, 1, "UTF-16", "\"\\xFF\\xFE0\\x00F\\x00\"", "UTF-8"},
        Refused{"NotAscii", "0F0,\xC3\xA9", 1, 5, "byte 0xC3", "\"\\xC3\\xA9\"", "0F3"}),
    [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Pairs, RefusedFile,
    testing::Values(
        Refused{"OpenPair", "0F0,(0F1;0B0", 1, 13, "pair is not closed", "\"(0F1;0B0\"", "OVERLAP_F_B"},
        Refused{"PairOfOne", "(0F0)OVERLAP_F_B", 1, 5, "semicolon", "\"(0F0)OVERLAP_F_B\"", "(0F3;1B2)OVERLAP_F_B"},
        Refused{"PairOfThree", "(0F1;0B0;0F2)OVERLAP_F_B", 1, 9, "not closed", "\"(0F1;0B0;0F2)OVERLAP_F_B\"", ";"},
        Refused{"EmptyPair", "()OVERLAP_F_B", 1, 2, "starts with its stage", "\"()OVERLAP_F_B\"", "0F3"},
        Refused{"BracketAtTheEnd", "(", 1, 2, "starts with its stage", "\"(\"", "0F3"},
        Refused{"PairWithoutType", "(0F1;0B0)", 1, 10, "ends in OVERLAP_F_B", "\"(0F1;0B0)\"", "OVERLAP_F_B"},
        Refused{"PairOfOtherType", "(0F1;0B0)OVERLAP", 1, 10, "ends in OVERLAP_F_B", "\"(0F1;0B0)OVERLAP\"", ""},
        Refused{"PairOfForwards", "(0F1;1F0)OVERLAP_F_B", 1, 2, "0F1 and 1F0 are no pair", "\"(0F1;1F0)OVERLAP_F_B\"",
                "one forward (F) and one backward"},
        Refused{"PairOfMessages", "(0F1;0SEND_F1)OVERLAP_F_B", 1, 2, "are no pair", "\"(0F1;0SEND_F1)OVERLAP_F_B\"",
                "one forward (F)"}),
    [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Tables, RefusedFile,
    testing::Values(Refused{"Empty", "", 0, 0, "holds no action", "", "one line"},
                    Refused{"EmptyLines", "\n \n\n", 0, 0, "holds no action", "", "one line"},
                    Refused{"EmptyLineInTheMiddle", "0F0,0B0\n\n\n1F0,1B0", 2, 1, "Rank 1 computes nothing", "",
                            "empty lines only at the end"},
                    Refused{"IdleRank", "0F0,0B0\n,,\n", 2, 1, "Rank 1 computes nothing", "", "compute action"},
                    Refused{"RankOfMessages", "0F0,0B0\n0UNSHARD\n", 2, 1, "Rank 1 computes nothing", "", "compute"},
                    Refused{"MissingStage", "0F0,0B0\n3F0,3B0", 2, 1, "Stage 3 is computed here and stage 1 nowhere",
                            "\"3F0\"", "without a gap"},
                    Refused{"FarStage", "1000000F0", 1, 1, "stage 0 nowhere", "\"1000000F0\"", "without a gap"}),
    [](const auto& test) { return test.param.name; });

// What find_fault says is its own affair (checker_test); here: that its place becomes line and column.
struct Unsound {
  std::string name;
  std::string text;
  int line;
  int column;
  std::string read;
};

class UnsoundTable : public testing::TestWithParam<Unsound> {};

TEST_P(UnsoundTable, IsBlamedAtTheCellOrAtTheEndOfTheRow) {
  const error::ScenarioFault fault = fault_of(GetParam().text);
  EXPECT_EQ(fault.location.line, GetParam().line) << fault.problem;
  EXPECT_EQ(fault.location.column, GetParam().column) << fault.problem;
  EXPECT_EQ(fault.read, GetParam().read) << fault.problem;
  EXPECT_FALSE(fault.problem.empty());
}

INSTANTIATE_TEST_SUITE_P(
    Faults, UnsoundTable,
    testing::Values(Unsound{"Twice", "0F0, ,0F0,0B0\n", 1, 7, "\"0F0\""},
                    Unsound{"OtherRanksStage", "0F0,0B0\n1F0,1B0,0F1\n", 2, 9, "\"0F1\""},
                    Unsound{"BackwardFirst", "0B0,0F0\n", 1, 1, "\"0B0\""},
                    Unsound{"InAPair", "0F0,(0F1;0B0)OVERLAP_F_B,(0F2;0B0)OVERLAP_F_B,0B1,0B2", 1, 31, "\"0B0\""},
                    Unsound{"MessageOfNoStage", "0F0,7SEND_F0,0B0", 1, 5, "\"7SEND_F0\""},
                    Unsound{"EvictedTwice", "0UNSHARD,0F0,0B0,0RESHARD,0RESHARD", 1, 27, "\"0RESHARD\""}),
    [](const auto& test) { return test.param.name; });

TEST(PyTorchCsvFault, SuggestsTheTypeThatWasMeant) {
  EXPECT_EQ(fault_of("0f0").nearest, "F");
  EXPECT_EQ(fault_of("0UNSHRD").nearest, "UNSHARD");
  EXPECT_EQ(fault_of("0send_f0").nearest, "SEND_F");
}

TEST(PyTorchCsvFault, QuotesLongCellsInPart) {
  const std::string read = fault_of("0" + std::string(5000, 'Q')).read;
  EXPECT_LT(read.size(), 80U);
  EXPECT_THAT(read, testing::EndsWith("...\""));
}

TEST(PyTorchCsvFault, NamesTwoModelCopiesWhenTheFileIsRightWithThem) {
  const auto table = schedules::builtin_schedules().find("dual_pipe")->implementation->table({4, 8, 4, {}});
  ASSERT_TRUE(table);
  const error::ScenarioFault fault = fault_of(to_pytorch_csv(*table));
  EXPECT_FALSE(fault.problem.empty());
  EXPECT_THAT(fault.allowed, HasSubstr("model_copies: 2"));
}

TEST(PyTorchCsvFault, SaysThatOlderFilesCalledTheInputGradientB) {
  EXPECT_THAT(fault_of("0F0,0B0,0W0").allowed, HasSubstr("older PyTorch versions"));
}

TEST(PyTorchCsvFault, RefusesAnOddNumberOfStagesForTwoCopies) {
  const error::ScenarioFault fault = fault_of("0F0,0B0,1F0,1B0,2F0,2B0", 2);
  EXPECT_THAT(fault.problem, HasSubstr("3 stages do not divide into 2 copies"));
}

TEST(PyTorchCsvFault, AMissingFileOrAFolderIsTheUsersMistake) {
  EXPECT_THROW((void)load_pytorch_csv("no-such-folder/x.csv"), error::ScenarioError);
  EXPECT_THROW((void)load_pytorch_csv(tests::source_folder()), error::ScenarioError);
}

TEST(PyTorchCsvFault, AHalfOfNoPairIsNotWritten) {
  schedules::ScheduleTable table;
  table.actions = {{{schedules::ActionType::kForward, 0, 0, true}}};
  EXPECT_THROW((void)to_pytorch_csv(table), error::InternalError);
}

}  // namespace
}  // namespace lamina::schedule_tables
