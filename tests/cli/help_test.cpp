#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/command.hpp"
#include "tests/support/paths.hpp"

namespace lamina::cli_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

/// Lines of one long word (an address) may be longer.
void expect_eighty_columns(const std::string& text) {
  std::size_t start = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', start)) {
    const std::string line = text.substr(start, end - start);
    const std::size_t first_word = line.find_first_not_of(' ');
    const bool one_long_word = first_word != std::string::npos && line.find(' ', first_word) == std::string::npos;
    EXPECT_TRUE(line.size() <= 80 || one_long_word) << line;
    start = end + 1;
  }
}

class EveryHelp : public testing::TestWithParam<std::vector<std::string>> {};

TEST_P(EveryHelp, GoesToStandardOutputWithExamplesAndNoEscapes) {
  std::vector<std::string> arguments = GetParam();
  arguments.emplace_back("--help");
  const Outcome outcome = lamina(arguments);
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.err, IsEmpty());
  EXPECT_THAT(outcome.out, HasSubstr("Examples:\n  lamina "));
  EXPECT_THAT(outcome.out, Not(HasSubstr("\033")));
  EXPECT_THAT(outcome.out, testing::EndsWith("\n"));
  expect_eighty_columns(outcome.out);
}

INSTANTIATE_TEST_SUITE_P(
    Commands, EveryHelp,
    testing::Values(std::vector<std::string>{}, std::vector<std::string>{"run"}, std::vector<std::string>{"check"},
                    std::vector<std::string>{"explain"}, std::vector<std::string>{"compare"},
                    std::vector<std::string>{"export"}, std::vector<std::string>{"export", "pytorch-csv"},
                    std::vector<std::string>{"export", "chakra"}, std::vector<std::string>{"draw"},
                    std::vector<std::string>{"plot"}, std::vector<std::string>{"list"},
                    std::vector<std::string>{"sweep"}, std::vector<std::string>{"score"},
                    std::vector<std::string>{"trace"}, std::vector<std::string>{"validate"},
                    std::vector<std::string>{"calibrate"}, std::vector<std::string>{"trace", "replay"},
                    std::vector<std::string>{"trace", "import"}, std::vector<std::string>{"trace", "compare"}),
    [](const auto& test) {
      std::string name = "lamina";
      for (const std::string& word : test.param) {
        name += "_" + word;
      }
      std::replace(name.begin(), name.end(), '-', '_');
      return name;
    });

TEST(Help, NamesEveryCommand) {
  const Outcome outcome = lamina({"--help"});
  for (const char* command : {"run", "check", "compare", "explain", "draw", "plot", "export", "list", "trace", "sweep",
                              "score", "validate", "calibrate"}) {
    EXPECT_THAT(outcome.out, HasSubstr(std::string("\n  ") + command));
  }
}

TEST(Version, IsTheProjectsVersion) {
  const Outcome outcome = lamina({"--version"});
  EXPECT_EQ(outcome.code, 0);
  ASSERT_THAT(outcome.out, testing::MatchesRegex("lamina [0-9]+\\.[0-9]+\\.[0-9]+\n"));
  const std::string number = outcome.out.substr(7, outcome.out.size() - 8);
  EXPECT_THAT(read_file((tests::source_folder() / "CMakeLists.txt").string()),
              HasSubstr("project(lamina VERSION " + number + " "));
}

class EveryList : public testing::TestWithParam<const char*> {};

TEST_P(EveryList, StartsWithItsTitleAndFitsEightyColumns) {
  const Outcome outcome = lamina({"list", GetParam()});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.err, IsEmpty());
  EXPECT_THAT(outcome.out, StartsWith(std::string(GetParam()) + "\n  "));
  expect_eighty_columns(outcome.out);
}

INSTANTIATE_TEST_SUITE_P(Kinds, EveryList,
                         testing::Values("schedules", "topologies", "models", "hardware", "collectives", "cost_models"),
                         [](const auto& test) { return test.param; });

TEST(List, NamesThePlugins) {
  EXPECT_THAT(lamina({"list", "schedules"}).out,
              AllOf(HasSubstr("  gpipe\n"), HasSubstr("  one_forward_one_backward\n"), HasSubstr("  layered_modular\n"),
                    HasSubstr("  accumulate\n")));
  EXPECT_THAT(lamina({"list", "topologies"}).out,
              AllOf(HasSubstr("  nvlink_switch\n"), HasSubstr("  fat_tree\n"), HasSubstr("  rail_optimized\n"),
                    HasSubstr("  leaf_spine_ethernet\n")));
  EXPECT_THAT(lamina({"list", "collectives"}).out, AllOf(HasSubstr("  ring\n"), HasSubstr("  hierarchical\n")));
  EXPECT_THAT(lamina({"list", "cost_models"}).out, AllOf(HasSubstr("  ideal\n"), HasSubstr("  roofline\n")));
}

TEST(List, WithoutKindShowsAllOfThem) {
  const Outcome outcome = lamina({"list"});
  EXPECT_EQ(outcome.code, 0);
  for (const char* kind : {"schedules\n", "topologies\n", "models\n", "hardware\n", "collectives\n", "cost_models\n"}) {
    EXPECT_THAT(outcome.out, HasSubstr(kind));
  }
}

}  // namespace
}  // namespace lamina::cli_test
