#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/command.hpp"

namespace lamina::cli_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

/// One forward, one backward on two ranks; order of Narayanan et al., arXiv 2104.04473, figure 4.
constexpr const char* kTable =
    "0F0,0F1,0B0,0F2,0B1,0F3,0B2,0B3\n"
    "1F0,1B0,1F1,1B1,1F2,1B2,1F3,1B3\n";

std::vector<std::string> export_arguments(const std::string& file, std::vector<std::string> more = {}) {
  std::vector<std::string> result = {"export", "pytorch-csv", file, "--set",
                                     "strategy.schedule=one_forward_one_backward"};
  result.insert(result.end(), more.begin(), more.end());
  return result;
}

TEST(ExportPyTorchCsv, WritesTheTableToStandardOutput) {
  const TemporaryFolder folder;
  const Outcome outcome = lamina(export_arguments(folder.file("small.yaml", small_scenario())));
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.err, IsEmpty());
  EXPECT_EQ(outcome.out, kTable);
}

TEST(ExportPyTorchCsv, WritesTheSameTableToAFileAndNothingElse) {
  const TemporaryFolder folder;
  const std::string file = folder.file("small.yaml", small_scenario());
  const std::string output = folder.file("table.csv", "what stood here before\n");
  const Outcome outcome = lamina(export_arguments(file, {"-o", output}));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, IsEmpty());
  EXPECT_EQ(read_file(output), kTable);
  EXPECT_THAT(folder.names(), testing::ElementsAre("small.yaml", "table.csv"));
}

TEST(ExportPyTorchCsv, MakesTheFolderOfItsFile) {
  const TemporaryFolder folder;
  const auto output = folder.path() / "a" / "b" / "table.csv";
  const Outcome outcome =
      lamina(export_arguments(folder.file("small.yaml", small_scenario()), {"--output", output.string()}));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(read_file(output), kTable);
}

// Rank 0 by hand: UNSHARD of its one stage first; every forward but none of the backwards is sent; REDUCE_GRAD after
// the last backward.
TEST(ExportPyTorchCsv, AddsCommunicationWhenLowered) {
  const TemporaryFolder folder;
  const Outcome outcome = lamina(export_arguments(folder.file("small.yaml", small_scenario()), {"--lowered"}));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out.substr(0, outcome.out.find('\n')),
            "0UNSHARD,0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0F2,0SEND_F2,0RECV_B1,0B1,0F3,0SEND_F3,0RECV_B2,0B2,"
            "0RECV_B3,0B3,0REDUCE_GRAD,0RESHARD");
}

// layered_modular has 16 stages on each of two ranks: one gather per stage and pass at 1 resident stage, less the one
// where the forward turns into the backward; at 3, two more stages are kept there.
TEST(ExportPyTorchCsv, KeepsAsManyStagesResidentAsToldOrAsTheScenarioSays) {
  const TemporaryFolder folder;
  const std::string file = folder.file("small.yaml", small_scenario());
  const auto unshards = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments = {"export", "pytorch-csv", file, "--lowered"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const std::string text = lamina(arguments).out;
    int count = 0;
    for (std::size_t at = text.find("UNSHARD"); at != std::string::npos; at = text.find("UNSHARD", at + 1)) {
      ++count;
    }
    return count;
  };
  EXPECT_EQ(unshards({"--resident-stages", "1"}), 2 * (2 * 16 - 1));
  EXPECT_EQ(unshards({}), 2 * (2 * 16 - 3));
  EXPECT_EQ(unshards({"--resident-stages", "16"}), 2 * 16);
  EXPECT_EQ(unshards({"--set", "strategy.sharding.look_ahead_stages=1"}), 2 * (2 * 16 - 1));
}

// The file's own communication is written, not what PyTorch's passes would add (UNSHARD and REDUCE_GRAD).
TEST(ExportPyTorchCsv, WritesTheCommunicationOfAFileThatPrescribesIt) {
  const TemporaryFolder folder;
  const std::string lowered =
      "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0F2,0SEND_F2,0RECV_B1,0B1,0F3,0SEND_F3,0RECV_B2,0B2,0RECV_B3,0B3\n"
      "1RECV_F0,1F0,1B0,1SEND_B0,1RECV_F1,1F1,1B1,1SEND_B1,1RECV_F2,1F2,1B2,1SEND_B2,1RECV_F3,1F3,1B3,1SEND_B3\n";
  ASSERT_FALSE(folder.file("odd.csv", lowered).empty());
  const std::string file =
      folder.file("small.yaml", small_scenario_with("schedule: layered_modular", "schedule_file: odd.csv"));
  EXPECT_EQ(lamina({"export", "pytorch-csv", file}).out, kTable);
  EXPECT_EQ(lamina({"export", "pytorch-csv", file, "--lowered"}).out, lowered);
  const Outcome outcome = lamina({"export", "pytorch-csv", file, "--lowered", "--resident-stages", "2"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("has its own communication"));
}

TEST(ExportPyTorchCsv, WhatItWritesIsTheScheduleFileOfAScenario) {
  const TemporaryFolder folder;
  const std::string file = folder.file("small.yaml", small_scenario());
  const std::string table = (folder.path() / "table.csv").string();
  for (const std::string form : {"-q", "--lowered"}) {
    ASSERT_EQ(lamina({"export", "pytorch-csv", file, form, "-o", table}).code, 0);
    const std::string again =
        folder.file("again.yaml", small_scenario_with("schedule: layered_modular", "schedule_file: table.csv"));
    const Outcome outcome = lamina({"export", "pytorch-csv", again, form});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.out, read_file(table));
  }
}

TEST(ExportPyTorchCsv, ScenariosThatCannotRunAreInfeasible) {
  const TemporaryFolder folder;
  const Outcome outcome = lamina({"export", "pytorch-csv", folder.file("small.yaml", small_scenario()), "--set",
                                  "strategy.schedule=dual_pipe", "--set", "strategy.micro_batches=3"});
  EXPECT_EQ(outcome.code, 4);
  EXPECT_THAT(outcome.out, IsEmpty());
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("infeasible"), HasSubstr("dual_pipe needs")));
}

TEST(ExportPyTorchCsv, ATableThatIsTooLargeIsRefusedAtOnce) {
  const TemporaryFolder folder;
  Invocation invocation;
  invocation.arguments =
      export_arguments(folder.file("small.yaml", small_scenario()), {"--set", "strategy.micro_batches=1000000000"});
  invocation.timeout = std::chrono::seconds(30);
  const Outcome outcome = run(invocation);
  EXPECT_FALSE(outcome.late);
  EXPECT_TRUE(outcome.code == 3 || outcome.code == 4) << outcome.code;
  EXPECT_THAT(outcome.err, Not(IsEmpty()));
}

/// A command line that is refused: its words after "export", the exit code, what the message says.
struct RefusedExport {
  std::string name;
  std::vector<std::string> arguments;
  int code;
  std::string message;
};

class WrongExport : public testing::TestWithParam<RefusedExport> {};

TEST_P(WrongExport, IsRefusedAndWritesNothing) {
  const TemporaryFolder folder;
  const std::string file = folder.file("small.yaml", small_scenario());
  std::vector<std::string> arguments = {"export"};
  for (std::string argument : GetParam().arguments) {
    const std::size_t place = argument.find("DIR");
    arguments.push_back(place == std::string::npos ? argument : argument.replace(place, 3, folder.path().string()));
  }
  const Outcome outcome = lamina(arguments);
  EXPECT_EQ(outcome.code, GetParam().code);
  EXPECT_THAT(outcome.out, IsEmpty());
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("error: "), HasSubstr(GetParam().message)));
  EXPECT_THAT(folder.names(), testing::ElementsAre("small.yaml"));
  EXPECT_EQ(read_file(file), small_scenario());
}

INSTANTIATE_TEST_SUITE_P(
    Cases, WrongExport,
    testing::Values(
        RefusedExport{"NoFormat", {}, 2, "a command is missing; the commands are pytorch-csv, chakra"},
        RefusedExport{"UnknownFormat", {"pytorch-cvs", "DIR/small.yaml"}, 2, "did you mean \"pytorch-csv\"?"},
        RefusedExport{"NoFile", {"pytorch-csv"}, 2, "FILE"},
        RefusedExport{"TwoFiles", {"pytorch-csv", "DIR/small.yaml", "b.yaml"}, 2, "b.yaml"},
        RefusedExport{"UnknownOption", {"pytorch-csv", "DIR/small.yaml", "--fast"}, 2, "--fast"},
        RefusedExport{"Folder", {"pytorch-csv", "DIR"}, 2, "is a folder"},
        RefusedExport{"MissingFile", {"pytorch-csv", "DIR/smal.yaml"}, 3, "small.yaml"},
        RefusedExport{"NotAScenario", {"pytorch-csv", "CMakeLists.txt"}, 3, "CMakeLists.txt"},
        RefusedExport{"NoStages", {"pytorch-csv", "DIR/small.yaml", "--lowered", "--resident-stages", "0"}, 2, "1"},
        RefusedExport{"StagesOfNothing", {"pytorch-csv", "DIR/small.yaml", "--resident-stages", "2"}, 2, "--lowered"},
        RefusedExport{"EmptyOutput", {"pytorch-csv", "DIR/small.yaml", "-o", ""}, 2, "name is empty"},
        RefusedExport{"OutputIsAFolder", {"pytorch-csv", "DIR/small.yaml", "-o", "DIR"}, 2, "is a folder"},
        RefusedExport{"OutputIsADevice", {"pytorch-csv", "DIR/small.yaml", "-o", "/dev/null"}, 2, "no ordinary file"},
        RefusedExport{"OutputIsTheInput", {"pytorch-csv", "DIR/small.yaml", "-o", "DIR/./small.yaml"}, 2, "replace"},
        RefusedExport{
            "OutputBelowAFile", {"pytorch-csv", "DIR/small.yaml", "-o", "DIR/small.yaml/x.csv"}, 6, "output folder"},
        RefusedExport{"OutputWhereNothingCanBe", {"pytorch-csv", "DIR/small.yaml", "-o", "/proc/x.csv"}, 6, "/proc"},
        RefusedExport{"SetWithoutValue", {"pytorch-csv", "DIR/small.yaml", "--set", "tp"}, 2, "key=value"}),
    [](const auto& test) { return test.param.name; });

TEST(ExportPyTorchCsv, TakesTheOptionsOfEveryCommandAnywhere) {
  const TemporaryFolder folder;
  const std::string file = folder.file("small.yaml", small_scenario());
  EXPECT_EQ(lamina({"export", "pytorch-csv", file, "-q", "--color", "never"}).code, 0);
  EXPECT_EQ(lamina({"export", "-v", "pytorch-csv", file}).code, 0);
  EXPECT_EQ(lamina({"-q", "export", "pytorch-csv", file}).code, 0);
}

TEST(ExportPyTorchCsv, AFullDiskIsAnErrorAndLeavesNoFile) {
  const TemporaryFolder folder;
  Invocation invocation;
  invocation.arguments = export_arguments(folder.file("small.yaml", small_scenario()));
  invocation.standard_output = "/dev/full";
  EXPECT_EQ(run(invocation).code, 6);
  invocation.standard_output.clear();
  invocation.arguments =
      export_arguments((folder.path() / "small.yaml").string(), {"-o", (folder.path() / "table.csv").string()});
  invocation.largest_file = 10;
  const Outcome outcome = run(invocation);
  EXPECT_EQ(outcome.code, 6) << outcome.err;
  EXPECT_THAT(folder.names(), testing::ElementsAre("small.yaml"));
}

}  // namespace
}  // namespace lamina::cli_test
