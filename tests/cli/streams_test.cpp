#include <csignal>
#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/cli/command.hpp"

namespace lamina::cli_test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class FullOutput : public testing::TestWithParam<std::vector<std::string>> {};

TEST_P(FullOutput, IsAnErrorAndNotASilence) {
  Invocation invocation;
  invocation.arguments = GetParam();
  invocation.standard_output = "/dev/full";
  const Outcome outcome = run(invocation);
  EXPECT_EQ(outcome.code, 6);
  EXPECT_THAT(outcome.err, HasSubstr("No space left on device"));
}

using Arguments = std::vector<std::string>;

INSTANTIATE_TEST_SUITE_P(Commands, FullOutput,
                         testing::Values(Arguments{"--help"}, Arguments{"--version"}, Arguments{"list", "schedules"},
                                         Arguments{"run", "scenarios/quickstart.yaml"},
                                         Arguments{"run", "scenarios/quickstart.yaml", "--format", "json"},
                                         Arguments{"check", "scenarios/quickstart.yaml"},
                                         Arguments{"explain", "scenarios/quickstart.yaml"}));

TEST(Streams, ClosedStandardOutputIsAnErrorAndHitsNoFile) {
  const TemporaryFolder folder;
  Invocation invocation;
  invocation.arguments = {"run", folder.file("small.yaml", small_scenario()), "-o", folder.path().string()};
  invocation.closed_output = true;
  const Outcome outcome = run(invocation);
  EXPECT_EQ(outcome.code, 6);
  EXPECT_THAT(outcome.err, HasSubstr("standard output"));
  EXPECT_TRUE(nlohmann::json::accept(read_file(folder.path() / "small.report.json")));
}

TEST(Streams, AReaderThatLeavesEndsTheCommandQuietly) {
  Invocation invocation;
  invocation.arguments = {"list"};
  invocation.reader_leaves = true;
  const Outcome outcome = run(invocation);
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.signal, 0);
  EXPECT_THAT(outcome.err, IsEmpty());
}

TEST(Streams, VerboseTellsCostsOnStandardErrorOnly) {
  const TemporaryFolder folder;
  const std::string file = folder.file("small.yaml", small_scenario());
  const Outcome quiet = lamina({"run", file, "--format", "json"});
  const Outcome verbose = lamina({"run", file, "--format", "json", "-v"});
  EXPECT_THAT(verbose.err, testing::AllOf(HasSubstr("activities/s"), HasSubstr("peak memory")));
  EXPECT_EQ(verbose.out, quiet.out);
}

TEST(Streams, LogLevelOfTheEnvironmentIsHeeded) {
  const TemporaryFolder folder;
  Invocation invocation;
  invocation.arguments = {"run", folder.file("small.yaml", small_scenario()), "-o", (folder.path() / "out").string()};
  invocation.environment = {{"LAMINA_LOG", "info"}};
  EXPECT_THAT(run(invocation).err, HasSubstr("small.report.json"));
  invocation.arguments.emplace_back("-q");
  EXPECT_THAT(run(invocation).err, IsEmpty());
}

/// Standard output and standard error on one terminal.
Outcome on_terminal(std::vector<std::string> arguments, std::map<std::string, std::string> environment) {
  Invocation invocation;
  invocation.arguments = std::move(arguments);
  invocation.environment = std::move(environment);
  invocation.environment.try_emplace("TERM", "xterm");
  invocation.environment.try_emplace("NO_COLOR", "");
  invocation.terminal = true;
  return run(invocation);
}

TEST(Colour, AppearsOnATerminalOnlyAndHeedsNoColor) {
  const TemporaryFolder folder;
  const std::string file = folder.file("small.yaml", small_scenario());
  const std::string escape = "\033[";
  EXPECT_THAT(on_terminal({"run", file}, {}).out, HasSubstr(escape));
  EXPECT_THAT(on_terminal({"run", file, "-q"}, {{"NO_COLOR", "1"}}).out, Not(HasSubstr(escape)));
  EXPECT_THAT(on_terminal({"run", file, "-q"}, {{"TERM", "dumb"}}).out, Not(HasSubstr(escape)));
  EXPECT_THAT(on_terminal({"run", file, "-q", "--color", "never"}, {}).out, Not(HasSubstr(escape)));
  EXPECT_THAT(lamina({"run", file}).out, Not(HasSubstr(escape)));
  EXPECT_THAT(lamina({"run", file, "--color", "always"}).out, HasSubstr(escape));
}

TEST(Colour, ErrorsAreRedOnATerminal) {
  EXPECT_THAT(on_terminal({"rum"}, {}).out, HasSubstr("\033[1;31merror:\033[0m"));
  EXPECT_THAT(on_terminal({"rum"}, {{"NO_COLOR", "1"}}).out, Not(HasSubstr("\033")));
}

TEST(OutputFolder, ThatCannotBeMadeIsReportedBeforeAnythingRuns) {
  const TemporaryFolder folder;
  const std::string file = folder.file("small.yaml", small_scenario());
  for (const std::string& target : {file, file + "/below", std::string("/proc/lamina-out")}) {
    const Outcome outcome = lamina({"run", file, "-o", target});
    EXPECT_EQ(outcome.code, 6) << target;
    EXPECT_THAT(outcome.out, IsEmpty());
    EXPECT_THAT(outcome.err, HasSubstr(target));
  }
}

TEST(OutputFolder, WithoutPermissionIsReported) {
  if (is_root()) {
    GTEST_SKIP() << "root writes everywhere";
  }
  const TemporaryFolder folder;
  const std::string file = folder.file("small.yaml", small_scenario());
  const auto target = folder.path() / "locked";
  std::filesystem::create_directory(target);
  std::filesystem::permissions(target, std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  const Outcome outcome = lamina({"run", file, "-o", target.string()});
  EXPECT_EQ(outcome.code, 6);
  EXPECT_THAT(outcome.err, testing::AllOf(HasSubstr(target.string()), HasSubstr("Permission denied")));
}

TEST(OutputFolder, StaysEmptyWhenAFileCannotBeWrittenWhole) {
  const TemporaryFolder folder;
  const TemporaryFolder target;
  Invocation invocation;
  invocation.arguments = {"run", folder.file("small.yaml", small_scenario()), "-o", target.path().string()};
  invocation.largest_file = 4096;  // the CSV fits, the JSON or the trace does not
  const Outcome outcome = run(invocation);
  EXPECT_EQ(outcome.code, 6);
  EXPECT_THAT(outcome.err, HasSubstr("File too large"));
  EXPECT_THAT(target.names(), IsEmpty());
}

/// Runs many scenarios into a folder and stops them part way.
TEST(OutputFolder, HoldsOnlyWholeFilesAfterAnInterrupt) {
  const TemporaryFolder folder;
  constexpr int kScenarios = 40;
  for (int i = 0; i < kScenarios; ++i) {
    ASSERT_THAT(folder.file("s" + std::to_string(i) + ".yaml", small_scenario()), Not(IsEmpty()));
  }
  for (const int signal : {SIGINT, SIGTERM}) {
    for (const int milliseconds : {60, 150, 300}) {
      const TemporaryFolder target;
      Invocation invocation;
      invocation.arguments = {"run", folder.path().string(), "-o", target.path().string()};
      invocation.signal = signal;
      invocation.signal_after = std::chrono::milliseconds(milliseconds);
      const Outcome outcome = run(invocation);
      EXPECT_TRUE(outcome.signal == signal || outcome.code == 0) << outcome.code << ' ' << outcome.err;
      for (const std::string& name : target.names()) {
        EXPECT_NE(name.front(), '.') << name;
        if (name.ends_with(".json")) {
          EXPECT_TRUE(nlohmann::json::accept(read_file(target.path() / name))) << name;
        }
      }
    }
  }
}

}  // namespace
}  // namespace lamina::cli_test
