#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/command.hpp"

namespace lamina::cli_test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

/// A command line that is refused: code 2, a message, nothing on standard output.
struct Refused {
  std::string name;
  std::vector<std::string> arguments;
  std::string message;
};

class WrongCommandLine : public testing::TestWithParam<Refused> {};

TEST_P(WrongCommandLine, GivesCodeTwoAndSaysWhy) {
  const Outcome outcome = lamina(GetParam().arguments);
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.out, IsEmpty());
  EXPECT_THAT(outcome.err, HasSubstr("error: "));
  EXPECT_THAT(outcome.err, HasSubstr(GetParam().message));
}

constexpr const char* kQuickstart = "scenarios/quickstart.yaml";

INSTANTIATE_TEST_SUITE_P(
    Cases, WrongCommandLine,
    testing::Values(Refused{"NoCommand", {}, "a command is missing"},
                    Refused{"UnknownCommand", {"rum"}, "did you mean \"run\"?"},
                    Refused{"UnknownOption", {"run", "--fast", kQuickstart}, "--fast"},
                    Refused{"NoFile", {"run"}, "FILE"}, Refused{"NoFileToCheck", {"check"}, "FILE"},
                    Refused{"UnknownFormat", {"run", kQuickstart, "--format", "xml"}, "xml"},
                    Refused{"SetWithoutValue", {"run", kQuickstart, "--set", "strategy.micro_batches"}, "key=value"},
                    Refused{"SetWithoutKey", {"run", kQuickstart, "--set", "=4"}, "key=value"},
                    Refused{"UnknownColour", {"run", kQuickstart, "--color", "red"}, "red"},
                    Refused{"UnknownLogLevel", {"run", kQuickstart, "--log-level", "loud"}, "loud"},
                    Refused{"UnknownList", {"list", "schedule"}, "did you mean \"schedules\"?"},
                    Refused{"FolderToExplain", {"explain", "scenarios"}, "is a folder"},
                    Refused{"TwoFilesToExplain", {"explain", "a.yaml", "b.yaml"}, "b.yaml"},
                    Refused{"FolderWithoutScenarios", {"run", "cmake"}, "no *.yaml"}),
    [](const auto& test) { return test.param.name; });

TEST(CommandLine, LogLevelOfTheEnvironmentIsChecked) {
  Invocation invocation;
  invocation.arguments = {"list", "schedules"};
  invocation.environment = {{"LAMINA_LOG", "loud"}};
  const Outcome outcome = run(invocation);
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("loud"));
}

TEST(CommandLine, TwoFilesOfOneNameCannotShareAnOutputFolder) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.path() / "a");
  std::filesystem::create_directory(folder.path() / "b");
  const std::string first = folder.file("a/same.yaml", small_scenario());
  const std::string second = folder.file("b/same.yaml", small_scenario());
  const Outcome outcome = lamina({"run", first, second, "-o", (folder.path() / "out").string()});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, testing::AllOf(HasSubstr(first), HasSubstr(second)));
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "out"));
}

TEST(CommandLine, TraceOfSeveralScenariosNeedsAFolder) {
  const TemporaryFolder folder;
  const Outcome outcome = lamina({"run", folder.file("a.yaml", small_scenario()),
                                  folder.file("b.yaml", small_scenario()), "--format", "perfetto"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("-o DIR"));
}

TEST(CommandLine, TraceIsNotWrittenToATerminal) {
  const TemporaryFolder folder;
  Invocation invocation;
  invocation.arguments = {"run", folder.file("a.yaml", small_scenario()), "--format", "perfetto"};
  invocation.terminal = true;
  const Outcome outcome = run(invocation);
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.out, HasSubstr("binary"));
}

}  // namespace
}  // namespace lamina::cli_test
