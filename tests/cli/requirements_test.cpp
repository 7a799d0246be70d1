#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/cli/command.hpp"
#include "tests/support/paths.hpp"

namespace lamina::cli_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

/// Two pipeline ranks of eight devices, one on each node.
std::string spread() {
  std::string text = small_scenario_with("  nodes: 1\n", "  nodes: 2\n") + "  placement: [tensor, data, pipeline]\n";
  text.replace(text.find("data_parallel: 2"), 16, "data_parallel: 4");
  return text;
}

nlohmann::json needs_of(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "requirements");
  arguments.insert(arguments.end(), {"--format", "json"});
  const Outcome outcome = lamina(arguments);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  return nlohmann::json::parse(outcome.out);
}

TEST(Requirements, OneLayoutIsShownInFull) {
  const TemporaryFolder folder;
  const Outcome outcome = lamina({"requirements", folder.file("spread.yaml", spread())});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, IsEmpty());
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr("Needed for a step within 5.0 %"), HasSubstr("  port "), HasSubstr("    pipeline "),
                    HasSubstr("What bandwidth does to the step"), HasSubstr("Closed forms")));
}

TEST(Requirements, SeveralSchedulesAndTopologiesStandInOneTable) {
  const TemporaryFolder folder;
  const std::string file = folder.file("spread.yaml", spread());
  const Outcome outcome = lamina({"requirements", file, "--schedules", "gpipe,one_forward_one_backward", "--topologies",
                                  "fat_tree,rail_optimized"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("gpipe fat_tree"), HasSubstr("one_forward_one_backward rail_optimized"),
                                 Not(HasSubstr("What bandwidth does"))));
}

TEST(Requirements, LayoutsThatCannotRunAreListed) {
  const TemporaryFolder folder;
  const auto document = needs_of({folder.file("spread.yaml", spread()), "--schedules", "gpipe,accumulate"});
  ASSERT_EQ(document.at("layouts").size(), 1U);
  ASSERT_EQ(document.at("refusals").size(), 1U);
  EXPECT_EQ(document.at("refusals")[0].at("name"), "accumulate");
}

TEST(Requirements, AWiderToleranceNeverNeedsMore) {
  const TemporaryFolder folder;
  const std::string file = folder.file("spread.yaml", spread());
  const auto strict = needs_of({file, "--tolerance", "1"});
  const auto wide = needs_of({file, "--tolerance", "20"});
  const auto needed = [](const nlohmann::json& document) {
    return document.at("layouts")[0].at("needs")[0].at("needed_bandwidth_bytes_per_s").get<double>();
  };
  EXPECT_GT(needed(strict), needed(wide));
}

TEST(Requirements, TheSameBytesComeOutTwice) {
  const TemporaryFolder folder;
  const std::string file = folder.file("spread.yaml", spread());
  const Outcome once = lamina({"requirements", file, "--format", "csv"});
  const Outcome again = lamina({"requirements", file, "--format", "csv"});
  EXPECT_THAT(once.out, HasSubstr("needed_bandwidth_bytes_per_s"));
  EXPECT_EQ(once.out, again.out);
}

TEST(Requirements, AFolderTakesAllThreeDocuments) {
  const TemporaryFolder folder;
  const std::string out = (folder.path() / "out").string();
  const Outcome outcome = lamina({"requirements", folder.file("spread.yaml", spread()), "-o", out});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(read_file(out + "/requirements.json"), HasSubstr("lamina.requirements/1"));
  EXPECT_THAT(read_file(out + "/requirements.csv"), HasSubstr("most_latency_s"));
  EXPECT_THAT(read_file(out + "/requirements.txt"), HasSubstr("Needed for a step"));
}

TEST(Requirements, BadArgumentsAreFaultsOfTheCommandLine) {
  const TemporaryFolder folder;
  const std::string file = folder.file("spread.yaml", spread());
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"--tolerance", "0"},
                                                    {"--tolerance", "much"},
                                                    {"--tolerance", "nan"},
                                                    {"--schedules", "gpip"},
                                                    {"--topologies", "fat_tre"},
                                                    {"--topologies", "fat_tree:radix=3"},
                                                    {"--format", "xml"}}) {
    std::vector<std::string> all = {"requirements", file};
    all.insert(all.end(), arguments.begin(), arguments.end());
    const Outcome outcome = lamina(all);
    EXPECT_EQ(outcome.code, 2) << arguments[1];
    EXPECT_THAT(outcome.out, IsEmpty());
    EXPECT_THAT(outcome.err, Not(IsEmpty()));
  }
  EXPECT_EQ(lamina({"requirements", (folder.path() / "none.yaml").string()}).code, 3);
}

TEST(Requirements, NothingThatCanRunIsInfeasible) {
  const TemporaryFolder folder;
  const Outcome outcome = lamina({"requirements", folder.file("spread.yaml", spread()), "--schedules", "accumulate"});
  EXPECT_EQ(outcome.code, 4);
  EXPECT_THAT(outcome.err, HasSubstr("none of the layouts can run"));
}

/// "<port needs> | <latency at most> | <step>" of a layout in the table of docs/requirements.md, to be found again.
std::string documented(const std::string& sharding, const std::string& schedule) {
  std::istringstream page(read_file((tests::source_folder() / "docs/requirements.md").string()));
  const std::string start = "| X_160, 5 stages | " + sharding + " | " + schedule + " | ";
  for (std::string line; std::getline(page, line);) {
    if (line.rfind(start, 0) == 0) {
      return line.substr(start.size());
    }
  }
  return "no row of the page";
}

/// The paper's third claim as the page states it, for the layouts that are quick to search.
class DocumentedNeeds : public testing::TestWithParam<std::string> {};

TEST_P(DocumentedNeeds, AreThoseTheCommandFinds) {
  const std::string file = (tests::source_folder() / "scenarios/quickstart.yaml").string();
  const Outcome outcome =
      lamina({"requirements", file, "--schedules", "layered_modular,one_forward_one_backward", "--set",
              "strategy.sharding=" + GetParam(), "--set", "simulation.enforce_memory=false"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  for (const std::string schedule : {"layered_modular", "one_forward_one_backward"}) {
    std::istringstream lines(outcome.out);
    std::string line;
    while (std::getline(lines, line) && line.find("  " + schedule + " ") != 0) {
    }
    std::istringstream row(documented(GetParam(), schedule));
    std::string need;
    std::string latency;
    std::string step;
    std::getline(std::getline(std::getline(row, need, '|'), latency, '|'), step, '|');
    EXPECT_THAT(line, AllOf(HasSubstr(" " + need), HasSubstr(" " + latency), HasSubstr(step))) << schedule;
  }
}

INSTANTIATE_TEST_SUITE_P(Sharding, DocumentedNeeds, testing::Values("full", "none"),
                         [](const auto& sharding) { return sharding.param; });

}  // namespace
}  // namespace lamina::cli_test
