#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/cli/command.hpp"

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

}  // namespace
}  // namespace lamina::cli_test
