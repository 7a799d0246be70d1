#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/cli/command.hpp"

namespace lamina::cli_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

Outcome sweep(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "sweep");
  return lamina(std::move(arguments));
}

std::vector<nlohmann::json> rows_of(const std::string& lines) {
  std::vector<nlohmann::json> rows;
  std::size_t start = 0;
  for (std::size_t end = lines.find('\n'); end != std::string::npos; end = lines.find('\n', start)) {
    rows.push_back(nlohmann::json::parse(lines.substr(start, end - start)));
    start = end + 1;
  }
  return rows;
}

std::vector<nlohmann::json> swept(std::vector<std::string> arguments) {
  arguments.insert(arguments.end(), {"--format", "jsonl"});
  const Outcome outcome = sweep(arguments);
  EXPECT_THAT(outcome.err, IsEmpty());
  EXPECT_EQ(outcome.code, 0);
  return rows_of(outcome.out);
}

/// Eight devices in many layouts: 5 x 3 x 6 = 90 points, a second of replays.
std::string many_layouts() {
  return small_scenario_with("  micro_batches: 4\n", "  global_batch: 24\n") + R"(sweep:
  axes:
    strategy.tensor_parallel: [1, 2, 3, 4, 8]
    strategy.pipeline_parallel: [1, 2, 4]
    strategy.data_parallel: = devices / (tensor_parallel * pipeline_parallel)
    strategy.micro_batch_size: {from: 1, to: 6, step: 1}
)";
}

TEST(Sweep, RowsAreWhatARunOfTheSamePointReports) {
  const TemporaryFolder folder;
  const std::string file = folder.file("small.yaml", small_scenario());
  const auto rows = swept({file, "--axis", "tp=1,2", "--axis", "micro_batches=2..4"});
  ASSERT_EQ(rows.size(), 6U);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].at("point"), i);
    EXPECT_EQ(rows[i].at("status"), "ok");
    EXPECT_EQ(rows[i].at("transport"), "simgrid");
  }
  const auto& row = rows[4];
  EXPECT_EQ(row.at("strategy.tensor_parallel"), 2);
  EXPECT_EQ(row.at("strategy.micro_batches"), 3);
  const auto report = nlohmann::json::parse(lamina({"run", file, "--set", "micro_batches=3", "--format", "json"}).out);
  EXPECT_EQ(row.at("step_time_s"), report.at("step").at("time_s"));
  EXPECT_EQ(row.at("peak_memory_bytes"), report.at("memory").at("peak_bytes"));
  EXPECT_EQ(row.at("model_flop_utilisation"), report.at("step").at("model_flop_utilisation"));
}

TEST(Sweep, PrintsTheBestPointsAndWhyOthersDoNotRun) {
  const TemporaryFolder folder;
  const std::string file = folder.file("small.yaml", small_scenario());
  const Outcome outcome = sweep({file, "--axis", "tp=1,2,3", "--axis", "mbs=1,2"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(StartsWith("6 points: 4 ok, 2 invalid"), HasSubstr("Best by step_time_s"),
                                 HasSubstr("Not in the running"), HasSubstr("more ranks than")));
}

TEST(Sweep, ARowTellsWhyItsPointDoesNotRun) {
  const TemporaryFolder folder;
  const std::string file = folder.file("small.yaml", small_scenario());
  const auto rows = swept({file, "--axis", "tp=1,3", "--axis", "dp== 8 / (tp * pp)", "--axis", "model=x32,x160"});
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(rows[0].at("status"), "ok");
  EXPECT_EQ(rows[1].at("status"), "does_not_fit");
  EXPECT_THAT(rows[1].at("reason").get<std::string>(), HasSubstr("GiB"));
  EXPECT_GT(rows[1].at("step_time_s").get<double>(), 0);
  EXPECT_EQ(rows[2].at("status"), "infeasible");
  EXPECT_THAT(rows[2].at("reason").get<std::string>(), HasSubstr("no whole number"));
  EXPECT_TRUE(rows[2].at("step_time_s").is_null());
}

TEST(Sweep, AFaultOfTheFileItselfIsCodeThree) {
  const TemporaryFolder folder;
  const std::string file = folder.file("small.yaml", small_scenario_with("recompute: full", "recompute: fulll"));
  const Outcome outcome = sweep({file, "--axis", "tp=1,2"});
  EXPECT_EQ(outcome.code, 3);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("strategy.recompute"), HasSubstr("small.yaml:15")));
}

TEST(Sweep, AnAxisMayGiveWhatTheFileLacks) {
  const TemporaryFolder folder;
  const std::string file = folder.file("small.yaml", small_scenario_with("  micro_batches: 4\n", ""));
  EXPECT_EQ(swept({file, "--axis", "gbs=4,8"}).size(), 2U);
}

TEST(Sweep, NothingThatRunsIsCodeFour) {
  const TemporaryFolder folder;
  const std::string file = folder.file("small.yaml", small_scenario());
  const Outcome outcome = sweep({file, "--axis", "tp=3,5"});
  EXPECT_EQ(outcome.code, 4);
  EXPECT_THAT(outcome.err, HasSubstr("no point of the sweep"));
}

struct BadUse {
  std::vector<std::string> arguments;
  int code;
  const char* message;
};

class BadSweep : public testing::TestWithParam<BadUse> {};

TEST_P(BadSweep, IsRefusedWithTheReason) {
  const TemporaryFolder folder;
  std::vector<std::string> arguments = {folder.file("small.yaml", small_scenario())};
  arguments.insert(arguments.end(), GetParam().arguments.begin(), GetParam().arguments.end());
  const Outcome outcome = sweep(arguments);
  EXPECT_EQ(outcome.code, GetParam().code) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr(GetParam().message));
  EXPECT_THAT(outcome.out, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(
    Uses, BadSweep,
    testing::Values(BadUse{{}, 2, "no sweep: section"}, BadUse{{"--axis", "tp"}, 2, "--axis takes KEY=VALUES"},
                    BadUse{{"--axis", "tp="}, 2, "--axis takes KEY=VALUES"},
                    BadUse{{"--axis", "tensor_parallel=1,2"}, 3, "strategy.tensor_parallel"},
                    BadUse{{"--axis", "tp=1,1"}, 3, "occurs twice"},
                    BadUse{{"--axis", "tp=1", "--axis", "tp=2"}, 3, "given twice"},
                    BadUse{{"--axis", "tp=1,two"}, 3, "two"}, BadUse{{"--axis", "tp=8..1"}, 3, "before it starts"},
                    BadUse{{"--axis", "tp=1,2", "--where", "tp >"}, 3, "ends where a value is expected"},
                    BadUse{{"--axis", "tp=1,2", "--where", "tq > 1"}, 3, "There is no \"tq\""},
                    BadUse{{"--axis", "tp=1,2", "--where", "tp > 2"}, 3, "None of the 2 combinations"},
                    BadUse{{"--axis", "mbs=1..2000", "--axis", "dp=1..2000"}, 3, "more than 100,000 points"},
                    BadUse{{"--axis", "tp=1,2", "--limit", "1"}, 3, "more than 1 points"},
                    BadUse{{"--axis", "tp=1,2", "--sort-by", "step_time"}, 2, "did you mean \"step_time_s\""},
                    BadUse{{"--axis", "tp=1,2", "--workers", "0"}, 2, "--workers"},
                    BadUse{{"--axis", "tp=1,2", "--refine", "0"}, 2, "--refine"},
                    BadUse{{"--axis", "tp=1,2", "-o", "table.txt"}, 2, ".csv or .jsonl"},
                    BadUse{{"--axis", "tp=1,2", "-o", "/dev/null/x.csv"}, 6, "/dev/null"}));

TEST(Sweep, GivesTheSameBytesForAnyNumberOfWorkers) {
  const TemporaryFolder folder;
  const std::string file = folder.file("many.yaml", many_layouts());
  const std::string one = sweep({file, "--workers", "1", "--format", "csv"}).out;
  EXPECT_EQ(std::count(one.begin(), one.end(), '\n'), 91);
  EXPECT_EQ(sweep({file, "--workers", "2", "--format", "csv"}).out, one);
  EXPECT_EQ(sweep({file, "--workers", "3", "--format", "csv"}).out, one);
}

TEST(Sweep, WritesTheTableAndRemovesTheJournal) {
  const TemporaryFolder folder;
  const std::string file = folder.file("many.yaml", many_layouts());
  const std::string table = (folder.path() / "new" / "table.csv").string();
  const Outcome outcome = sweep({file, "-o", table});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, StartsWith("90 points:"));
  EXPECT_EQ(read_file(table), sweep({file, "--format", "csv"}).out);
  EXPECT_FALSE(std::filesystem::exists(table + ".journal"));
}

/// Processes of this program that name `file` on their command line.
int processes_with(const std::string& file) {
  int count = 0;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    std::ifstream stream(entry.path() / "cmdline");
    const std::string line(std::istreambuf_iterator<char>(stream), {});
    count += line.find(file) != std::string::npos ? 1 : 0;
  }
  return count;
}

/// Ends the command with SIGKILL after a share of the time that the whole sweep takes. Whether it was still running.
bool kill_at(double share, const std::vector<std::string>& arguments, std::chrono::duration<double> whole) {
  Invocation invocation;
  invocation.arguments = arguments;
  invocation.signal = SIGKILL;
  invocation.signal_after = std::chrono::duration_cast<std::chrono::milliseconds>(share * whole);
  const Outcome outcome = run(invocation);
  EXPECT_TRUE(outcome.signal == SIGKILL || outcome.code == 0) << outcome.err;
  return outcome.signal == SIGKILL;
}

TEST(Sweep, KilledAtAnyMomentItGoesOnAndTheTableIsTheSame) {
  const TemporaryFolder folder;
  const std::string file = folder.file("many.yaml", many_layouts());
  const std::string table = (folder.path() / "table.csv").string();
  const std::vector<std::string> arguments = {"sweep", file, "-o", table, "--workers", "2"};
  const auto start = std::chrono::steady_clock::now();
  ASSERT_EQ(lamina(arguments).code, 0);
  const std::chrono::duration<double> whole = std::chrono::steady_clock::now() - start;
  const std::string expected = read_file(table);
  std::filesystem::remove(table);
  std::mt19937 random(20260214);
  int in_the_middle = 0;
  for (int kill = 0; kill < 10; ++kill) {
    if (!kill_at(std::uniform_real_distribution<double>(0.05, 0.6)(random), arguments, whole)) {
      EXPECT_EQ(read_file(table), expected);
      std::filesystem::remove(table);
      continue;
    }
    in_the_middle += std::filesystem::exists(table + ".journal") && !std::filesystem::exists(table) ? 1 : 0;
    for (int wait = 0; wait < 250 && processes_with(file) > 0; ++wait) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    EXPECT_EQ(processes_with(file), 0) << "a worker outlived its parent";
  }
  EXPECT_GT(in_the_middle, 0);
  EXPECT_EQ(lamina(arguments).code, 0);
  EXPECT_EQ(read_file(table), expected);
}

/// Leaves the journal of a sweep that did not end.
std::string stop_half_way(const TemporaryFolder& folder, const std::string& file) {
  const std::string table = (folder.path() / "table.csv").string();
  const std::vector<std::string> arguments = {"sweep", file, "-o", table, "--workers", "1"};
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(lamina(arguments).code, 0);
  const std::chrono::duration<double> whole = std::chrono::steady_clock::now() - start;
  for (double share = 0.7; share > 0.05 && !std::filesystem::exists(table + ".journal"); share -= 0.1) {
    (void)kill_at(share, arguments, whole);
  }
  EXPECT_TRUE(std::filesystem::exists(table + ".journal"));
  return table;
}

TEST(Sweep, RefusesTheJournalOfAChangedScenarioUntilRestart) {
  const TemporaryFolder folder;
  const std::string file = folder.file("many.yaml", many_layouts());
  const std::string table = stop_half_way(folder, file);
  const Outcome axes = sweep({file, "-o", table, "--axis", "tp=1"});
  EXPECT_EQ(axes.code, 2);
  EXPECT_THAT(axes.err, AllOf(HasSubstr("the axes or conditions"), HasSubstr("--restart")));
  const Outcome set = sweep({file, "-o", table, "--set", "model=x64"});
  EXPECT_EQ(set.code, 2);
  EXPECT_THAT(set.err, HasSubstr("the scenario"));
  EXPECT_EQ(sweep({file, "-o", table, "--axis", "tp=1", "--restart"}).code, 0);
  const std::string text = read_file(table);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1 + 3 * 6);
}

TEST(Sweep, TwoOnOneTableDoNotMix) {
  const TemporaryFolder folder;
  const std::string file = folder.file("many.yaml", many_layouts());
  const std::string table = (folder.path() / "table.csv").string();
  std::thread first([&] { EXPECT_EQ(sweep({file, "-o", table, "--workers", "1"}).code, 0); });
  for (int wait = 0; wait < 500 && !std::filesystem::exists(table + ".journal"); ++wait) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  const Outcome second = sweep({file, "-o", table});
  first.join();
  EXPECT_EQ(second.code, 2);
  EXPECT_THAT(second.err, HasSubstr("another sweep is writing"));
}

TEST(Sweep, RefinesTheBestPointsOnly) {
  const TemporaryFolder folder;
  const std::string file = folder.file("many.yaml", many_layouts());
  const auto rows = swept({file, "--refine", "4"});
  const auto coarse = swept({file, "--set", "simulation.transport=no_contention"});
  ASSERT_EQ(rows.size(), coarse.size());
  std::vector<double> refined;
  std::vector<double> others;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (coarse[i].at("status") == "ok") {
      (rows[i].at("transport") == "simgrid" ? refined : others).push_back(coarse[i].at("step_time_s"));
    }
  }
  ASSERT_EQ(refined.size(), 4U);
  EXPECT_LE(*std::max_element(refined.begin(), refined.end()), *std::min_element(others.begin(), others.end()));
}

TEST(Sweep, ShowsProgressWhenAsked) {
  const TemporaryFolder folder;
  const std::string file = folder.file("small.yaml", small_scenario());
  const Outcome outcome = sweep({file, "--axis", "tp=1,2", "--progress", "--format", "csv"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("2 of 2 points"), HasSubstr("/s"), HasSubstr("best ")));
  EXPECT_THAT(sweep({file, "--axis", "tp=1,2"}).err, IsEmpty());
}

TEST(Sweep, OtherCommandsCheckTheSectionAndIgnoreIt) {
  const TemporaryFolder folder;
  const std::string axes = small_scenario() + "sweep: {axes: {tp: [1, 2]}}\n";
  EXPECT_EQ(lamina({"run", folder.file("a.yaml", axes)}).out,
            lamina({"run", folder.file("b.yaml", small_scenario())}).out);
  const Outcome wrong = lamina({"check", folder.file("c.yaml", small_scenario() + "sweep: {axes: {tq: [1]}}\n")});
  EXPECT_EQ(wrong.code, 3);
  EXPECT_THAT(wrong.err, HasSubstr("tq"));
}

}  // namespace
}  // namespace lamina::cli_test
