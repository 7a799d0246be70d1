#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/cli/command.hpp"
#include "tests/cli/cores.hpp"

namespace lamina::cli_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

// Times are for people: a test machine is shared. What is asserted is that everything ran, in order, with the numbers
// that do not depend on time.
TEST(ValidateOnCores, RunsEveryOperationAndTellsItsConditions) {
  const std::vector<std::vector<std::string>> layouts = {
      {},
      {"--transport", "tcp", "--set", "strategy.schedule=zero_bubble_h1"},
      {"--set", "pp=1", "--set", "dp=2", "--set", "strategy.schedule=layered_modular", "--set",
       "strategy.sharding=full", "--set", "strategy.offload={state: true, update_on: device}"},
      {"--set", "pp=1", "--set", "tp=2", "--set", "strategy.precision.compute=fp32"}};
  for (const std::vector<std::string>& layout : layouts) {
    const Outcome outcome = run_small_on_cores(layout);
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const auto document = nlohmann::json::parse(outcome.out);
    EXPECT_EQ(document.at("ranks"), 2);
    EXPECT_GT(document.at("step").at("measured_s").get<double>(), 0);
    EXPECT_GT(document.at("step").at("structural_s").get<double>(), 0);
    EXPECT_THAT(document.at("conditions").at(0).get<std::string>(), HasSubstr("oneDNN"));
    for (const auto& row : document.at("durations")) {
      EXPECT_GT(row.at("measured_s").get<double>(), 0) << row;
    }
  }
}

const std::vector<std::string> kOffloaded = {
    "--set", "dp=2",
    "--set", "pp=1",
    "--set", "strategy.schedule=layered_modular",
    "--set", "strategy.sharding=full",
    "--set", "strategy.offload={state: true, checkpoints: true, update_on: device}"};

std::vector<std::string> offloaded_to(const std::string& folder) {
  std::vector<std::string> arguments = kOffloaded;
  arguments.insert(arguments.end(), {"--offload-to", folder});
  return arguments;
}

TEST(ValidateOnCores, CopiesToAFileInTheFolderAndLeavesNothingThere) {
  const TemporaryFolder folder;
  const Outcome outcome = run_small_on_cores(offloaded_to(folder.path().string()));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto document = nlohmann::json::parse(outcome.out);
  EXPECT_THAT(document.at("conditions").back().get<std::string>(), HasSubstr(folder.path().string()));
  int offloads = 0;
  for (const auto& row : document.at("durations")) {
    if (row.dump().find("copy to host") != std::string::npos) {
      ++offloads;
      EXPECT_GT(row.at("measured_s").get<double>(), 0) << row;
    }
  }
  EXPECT_GT(offloads, 0) << outcome.out;
  EXPECT_THAT(folder.names(), IsEmpty());
}

TEST(ValidateOnCores, SaysWhenAFolderDoesNotTakeTheCopies) {
  const TemporaryFolder folder;
  const std::string missing = (folder.path() / "none").string();
  const Outcome nowhere = run_small_on_cores(offloaded_to(missing));
  EXPECT_EQ(nowhere.code, 6) << nowhere.out;
  EXPECT_THAT(nowhere.err, AllOf(HasSubstr(missing), HasSubstr("No such file")));

  Invocation full;  // a limit on the size of files, as a full disk would be
  full.arguments = {"validate", two_cores(), "--backend", "cpu", "--repeat", "1"};
  const std::vector<std::string> more = offloaded_to(folder.path().string());
  full.arguments.insert(full.arguments.end(), more.begin(), more.end());
  full.largest_file = 1 << 20;
  const Outcome outcome = run(full);
  EXPECT_EQ(outcome.code, 6) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("MB of host copies"), HasSubstr("File too large")));
  EXPECT_THAT(folder.names(), IsEmpty());
}

TEST(ValidateOnCores, WarnsWhereAScenarioHasNothingForTheFolder) {
  const TemporaryFolder folder;
  const Outcome outcome = run_small_on_cores({"--offload-to", folder.path().string()});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("strategy.offload"));
}

TEST(ValidateOnCores, RefusesAModelThatDoesNotFitIntoTheMachine) {
  const Outcome outcome = lamina({"validate", two_cores(), "--backend", "cpu", "--set", "model.hidden=65536", "--set",
                                  "model.heads=512", "--set", "model.head_size=128", "--set",
                                  "model.feed_forward=262144", "--set", "simulation.enforce_memory=false"});
  EXPECT_EQ(outcome.code, 6) << outcome.out;
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("rank "), HasSubstr("MB of memory")));
}

}  // namespace
}  // namespace lamina::cli_test
