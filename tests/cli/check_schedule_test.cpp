// `lamina check FILE.csv`: schedules in PyTorch's pipeline format, good and hostile.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/command.hpp"

namespace lamina::cli_test {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kSchedule = "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n";

Outcome check(const std::string& content, std::vector<std::string> more = {}) {
  const TemporaryFolder folder;
  Invocation invocation;
  invocation.arguments = {"check", folder.file("odd.csv", content)};
  invocation.arguments.insert(invocation.arguments.end(), more.begin(), more.end());
  invocation.timeout = std::chrono::seconds(60);
  return run(invocation);
}

void expect_accepted(const std::string& content, const std::string& summary) {
  const Outcome outcome = check(content);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, IsEmpty());
  EXPECT_THAT(outcome.out, EndsWith("odd.csv: ok: " + summary + "\n"));
}

TEST(CheckSchedule, PrintsSizesAndForm) {
  expect_accepted(kSchedule, "2 ranks, 2 stages, 2 micro-batches, 8 compute actions, compute-only");
  expect_accepted("0F0,0B0\n", "1 rank, 1 stage, 1 micro-batch, 2 compute actions, compute-only");
}

TEST(CheckSchedule, KnowsTheLoweredForm) {
  expect_accepted("0UNSHARD,0F0,0SEND_F0,0RECV_B0,0B0,0REDUCE_GRAD,0RESHARD\n1RECV_F0,1F0,1B0,1SEND_B0,1REDUCE_GRAD\n",
                  "2 ranks, 2 stages, 1 micro-batch, 4 compute actions, 8 communication actions, lowered");
}

TEST(CheckSchedule, AcceptsBlankCellsAndCarriageReturns) {
  expect_accepted("0F0,,0F1,,0B0,0B1\r\n,1F0,1B0,1F1,1B1,\r\n",
                  "2 ranks, 2 stages, 2 micro-batches, 8 compute actions, compute-only");
}

TEST(CheckSchedule, TakesTwoCopiesOfTheModel) {
  const std::string two = "0F0,0B0,3F0,3B0\n2F0,1F0,1B0,2B0\n";  // chunk 0 is stage 0 on rank 0, stage 2 on rank 1
  const Outcome outcome = check(two, {"--model-copies", "2"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, EndsWith("ok: 2 ranks, 4 stages, 2 micro-batches, 8 compute actions, compute-only\n"));
}

TEST(CheckSchedule, GoesOnToTheNextFile) {
  const TemporaryFolder folder;
  const std::string wrong = folder.file("wrong.csv", "0F0\n");
  const std::string right = folder.file("right.csv", kSchedule);
  const Outcome outcome = lamina({"check", wrong, right, "scenarios/quickstart.yaml"});
  EXPECT_EQ(outcome.code, 3);
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("right.csv: ok"), HasSubstr("quickstart.yaml: valid")));
  EXPECT_THAT(outcome.err, HasSubstr("wrong.csv:1"));
}

struct Hostile {
  std::string name;
  std::string content;
  std::string place;    ///< of the fault, after the file's name
  std::string message;  ///< part of it
};

class HostileSchedule : public testing::TestWithParam<Hostile> {};

TEST_P(HostileSchedule, IsRefusedWithItsPlaceAndReason) {
  const Outcome outcome = check(GetParam().content);
  EXPECT_FALSE(outcome.late);
  EXPECT_EQ(outcome.code, 3) << "signal " << outcome.signal;
  EXPECT_THAT(outcome.out, IsEmpty());
  EXPECT_THAT(outcome.err, HasSubstr("odd.csv" + GetParam().place + ": "));
  EXPECT_THAT(outcome.err, HasSubstr(GetParam().message));
  EXPECT_LT(outcome.err.size(), 2000U);
}

std::string bytes() {
  std::string result;
  for (int i = 0; i < 4096; ++i) {
    result += static_cast<char>((i * 37) % 256);
  }
  return result;
}

/// 500,000 micro-batches on one rank, with the last backward written twice: 1,000,000 cells of "0F", "0B" and a comma,
/// and twice the 2,888,890 digits of 0 to 499,999, before it.
std::string million_cells() {
  std::string row;
  for (int i = 0; i < 500'000; ++i) {
    row += "0F" + std::to_string(i) + ",0B" + std::to_string(i) + ",";
  }
  return row + "0B499999\n";
}

/// PyTorch's text form of 1F1B at commit 00722e648b on two ranks: the last row counts forwards from 1.
constexpr const char* kMisnumbered = "0F0,0F1,0B0,0F2,0B1,0B2\n1F1,1B0,1F2,1B1,1F3,1B2\n";

INSTANTIATE_TEST_SUITE_P(
    Files, HostileSchedule,
    testing::Values(Hostile{"Empty", "", "", "no action"},
                    Hostile{"OnlyCommas", ",,,\n,,,\n", ":1:1", "computes nothing"},
                    Hostile{"Binary", bytes(), ":1:1", "not text"},
                    Hostile{"TruncatedInACell", "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1", ":2:14", "type of the action"},
                    Hostile{"TruncatedAfterACell", "0F0,0F1,0B0,0B1\n1F0,1B0,1F1", ":2:12", "never its backward"},
                    Hostile{"WithoutTheLastRow", "0F0,1F0,0F1,0B0,0B1\n", ":1:20", "1F0 but never its backward"},
                    Hostile{"UnknownType", "0F0,0X0\n", ":1:6", "no action type"},
                    Hostile{"GapInTheStages", "0F0,0B0\n2F0,2B0\n", ":2:1", "stage 1 nowhere"},
                    Hostile{"StageOnTwoRanks", "0F0,0B0,0F1,0B1\n1F0,1B0,0F1,1F1,1B1\n", ":2:9", "belongs to rank 0"},
                    Hostile{"HugeStage", "99999999999999999999F0\n", ":1:1", "too large"},
                    Hostile{"HugeMicroBatch", "0F999999,0B999999\n", ":1:18", "never computes 0F0"},
                    Hostile{"NegativeMicroBatch", "0F-1,0B-1\n", ":1:3", "micro-batch number"},
                    Hostile{"DuplicateAction", "0F0,0B0,0F0\n", ":1:9", "twice"},
                    Hostile{"MillionCells", million_cells(), ":1:8777781", "computes 0B499999 twice"},
                    Hostile{
                        "Deadlock", "0F0,0B0,0F1,0B1\n1F1,1B1,1F0,1B0\n", ":1:5",
                        "Rank 0 is at 0B0 and waits for 1B0 of rank 1, which is at 1F1 and waits for 0F1 of rank 0"},
                    Hostile{"MisnumberedRow", kMisnumbered, ":2:1", "numbered 1 to 3 instead of 0 to 2"},
                    Hostile{"UnclosedPair", "(0F0;0B0\n", ":1:9", "not closed"},
                    Hostile{"PairThatNeedsItself", "(0F0;0B0)OVERLAP_F_B\n", ":1:2", "one of them needs the other"},
                    Hostile{"SendWithoutReceive", "0F0,0SEND_F0,0RECV_B0,0B0\n1F0,1B0,1SEND_B0\n", ":1:5",
                            "rank 1 never issues 1RECV_F0"},
                    Hostile{"CarriageReturnsAlone", "0F0,0B0\r1F0,1B0\r", ":1:8", "carriage return"}),
    [](const auto& test) { return test.param.name; });

TEST(CheckSchedule, MissingFileAndFolderAreNamed) {
  const TemporaryFolder folder;
  const Outcome missing = lamina({"check", (folder.path() / "none.csv").string()});
  EXPECT_EQ(missing.code, 3);
  EXPECT_THAT(missing.err, AllOf(HasSubstr("none.csv"), HasSubstr("no such file")));
  std::filesystem::create_directory(folder.path() / "folder.csv");
  const Outcome directory = lamina({"check", (folder.path() / "folder.csv").string()});
  EXPECT_EQ(directory.code, 2);
  EXPECT_THAT(directory.err, AllOf(HasSubstr("folder.csv"), HasSubstr("no *.yaml file")));
}

TEST(CheckSchedule, OptionsThatDoNotConcernTheFilesAreRefused) {
  const Outcome set = check(kSchedule, {"--set", "tp=2"});
  EXPECT_EQ(set.code, 2);
  EXPECT_THAT(set.err, HasSubstr("--set changes scenarios"));
  const Outcome copies = lamina({"check", "scenarios/quickstart.yaml", "--model-copies", "2"});
  EXPECT_EQ(copies.code, 2);
  EXPECT_THAT(copies.err, HasSubstr("--model-copies is for schedules"));
  EXPECT_EQ(check(kSchedule, {"--model-copies", "3"}).code, 2);
}

TEST(CheckSchedule, SuggestsTwoCopiesWhereThatFits) {
  const Outcome outcome = check("0F0,0B0,3F0,3B0\n2F0,1F0,1B0,2B0\n");
  EXPECT_EQ(outcome.code, 3);
  EXPECT_THAT(outcome.err, HasSubstr("model_copies"));
}

}  // namespace
}  // namespace lamina::cli_test
