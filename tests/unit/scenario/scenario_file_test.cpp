#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/scenario/tree.hpp"
#include "tests/unit/scenario/scenario_fixture.hpp"

/// What can be wrong with a file before its keys are looked at.
namespace lamina::scenario {
namespace {

using testing::HasSubstr;

error::ScenarioFault file_fault(const std::filesystem::path& file) {
  return fault_when([&] { static_cast<void>(load_file(file, source_catalogue(), test_plugins())); });
}

TEST(ScenarioFile, IsLoadedWithItsStemAsName) {
  const TemporaryFile file("my-cluster.yaml", good_scenario());
  const Scenario scenario = load_file(file.path(), source_catalogue(), test_plugins());
  EXPECT_EQ(scenario.name, "my-cluster");
  EXPECT_EQ(scenario.file, file.path().string());
}

TEST(ScenarioFile, ThatDoesNotExistIsAnsweredWithTheNearestName) {
  const TemporaryFile file("quickstart.yaml", good_scenario());
  const auto fault = file_fault(file.folder() / "quikstart.yaml");
  EXPECT_EQ(fault.problem, "There is no such file.");
  EXPECT_EQ(fault.nearest, file.path().string());
  EXPECT_EQ(file_fault("no/such/folder/a.yaml").problem, "There is no such file.");
}

TEST(ScenarioFile, ThatIsAFolderIsRefused) {
  const TemporaryFile file("a.yaml", "");
  EXPECT_EQ(file_fault(file.folder()).problem, "This is a folder, not a file.");
}

TEST(ScenarioFile, ThatCannotBeReadIsAnEnvironmentError) {
  // Opening works even for root, reading at address 0 does not.
  EXPECT_THROW(static_cast<void>(load_file("/proc/self/mem", source_catalogue(), test_plugins())),
               error::EnvironmentError);
}

TEST(ScenarioFile, ThatIsHugeIsRefusedWithTheLimit) {
  const TemporaryFile file("a.yaml", good_scenario() + std::string(kLargestFile, '#'));
  const auto fault = file_fault(file.path());
  EXPECT_THAT(fault.problem, HasSubstr("too large"));
  EXPECT_EQ(fault.allowed, "at most 262144 bytes");
  EXPECT_THAT(fault_of(std::string(kLargestFile + 1, ' ')).problem, HasSubstr("too large"));
  EXPECT_THAT(file_fault("/dev/zero").problem, HasSubstr("too large"));
}

TEST(ScenarioFile, WithASyntaxErrorIsRefusedWithLineAndColumn) {
  const auto fault = fault_of("schema_version: 1\nmodel: [x32\n");
  EXPECT_THAT(fault.problem, HasSubstr("not valid YAML"));
  EXPECT_EQ(fault.location.line, 3);
  const auto tab = fault_of("schema_version: 1\ncluster:\n\tnodes: 2\n");
  EXPECT_THAT(tab.problem, HasSubstr("not valid YAML"));
  EXPECT_EQ(tab.location.line, 3);
  EXPECT_THAT(fault_of("a: *missing\n").problem, HasSubstr("not valid YAML"));
  EXPECT_THAT(fault_of("a: \"open").problem, HasSubstr("not valid YAML"));
}

TEST(ScenarioFile, WithAKeyTwiceIsRefused) {
  const auto fault = fault_of(with_more("  data_parallel: 2\n"));
  EXPECT_EQ(fault.problem, "The key \"data_parallel\" occurs twice in one mapping (first in line 8).");
  EXPECT_EQ(fault.location.line, 10);
  EXPECT_EQ(fault.location.column, 3);
}

TEST(ScenarioFile, WithSeveralDocumentsIsRefused) {
  const auto fault = fault_of(good_scenario() + "---\nschema_version: 1\n");
  EXPECT_THAT(fault.problem, HasSubstr("several YAML documents"));
  EXPECT_EQ(fault.location.line, 10);
  EXPECT_EQ(load("---\n" + good_scenario()).name, "test");
}

TEST(ScenarioFile, WithBytesThatAreNoTextIsRefusedWithTheirPlace) {
  const auto nul = fault_of(std::string("schema_version: 1\nmodel: x\0002\n", 28));
  EXPECT_EQ(nul.problem, "The text contains a control character.");
  EXPECT_EQ(nul.read, "byte 0x00");
  EXPECT_EQ(nul.location.line, 2);
  EXPECT_EQ(nul.location.column, 9);
  EXPECT_EQ(fault_of("a: \x1b[31m\n").read, "byte 0x1B");
  for (const char* malformed :
       {"\xff\xfe", "\xc3(", "\xe2\x82", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\x80"}) {
    EXPECT_EQ(fault_of("a: " + std::string(malformed)).problem, "The text is not valid UTF-8.");
  }
}

TEST(ScenarioFile, MayHaveAByteOrderMarkWindowsLineEndsAndUnicode) {
  std::string windows = "\xef\xbb\xbf";
  for (const char character : with_more("# \u00e9\u4e2d\U0001F600\ndescription: \u00e9t\u00e9\n")) {
    windows += character == '\n' ? "\r\n" : std::string(1, character);
  }
  EXPECT_EQ(load(windows).description, "\u00e9t\u00e9");
  std::string wrong = windows;
  wrong.replace(wrong.find("nodes: 2"), 8, "nodes: X");
  EXPECT_EQ(fault_of(wrong).location.line, 5);
}

TEST(ScenarioFile, ExpandsAliases) {
  const Scenario scenario = load(
      "schema_version: 1\nmodel: &m x32\nname: *m\n"
      "cluster: {node: dgx-a100-80gb, network: infiniband-hdr}\nstrategy: {micro_batches: 1}\n");
  EXPECT_EQ(scenario.name, "x32");
}

TEST(ScenarioFile, ThatIsAnAliasBombIsRefused) {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before;
    for (int j = 1; j < 10; ++j) {
      bomb += ", " + before;
    }
    bomb += "]\n";
  }
  const auto fault = fault_of(bomb);
  EXPECT_THAT(fault.problem, HasSubstr("too many values"));
  EXPECT_EQ(fault.allowed, "at most 100000 values");
}

TEST(ScenarioFile, WithAnAliasInsideItselfIsRefused) {
  EXPECT_THAT(fault_of("a: &a [*a]\n").problem, HasSubstr("inside the value that it repeats"));
  EXPECT_THAT(fault_of("a: &a {b: *a}\n").problem, HasSubstr("inside the value that it repeats"));
}

TEST(ScenarioFile, ThatIsNestedTooDeeplyIsRefused) {
  EXPECT_THAT(fault_of("a: " + std::string(70, '[') + std::string(70, ']')).problem, HasSubstr("nested too deeply"));
  EXPECT_THAT(fault_of(std::string(100'000, '[')).problem, HasSubstr("nested too deeply"));
  EXPECT_THAT(fault_of(std::string(100'000, '{')).problem, HasSubstr("nested too deeply"));
  std::string by_alias = "a0: &a0 x\n";
  for (int i = 1; i < 70; ++i) {
    by_alias += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [*a" + std::to_string(i - 1) + "]\n";
  }
  EXPECT_THAT(fault_of(by_alias).problem, HasSubstr("nested too deeply"));
}

TEST(ScenarioFile, WithAKeyThatIsNoWordIsRefused) {
  EXPECT_THAT(fault_of("? [a, b]\n: 1\n").problem, HasSubstr("A key must be a plain word"));
  EXPECT_THAT(fault_of("? {a: b}\n: 1\n").problem, HasSubstr("A key must be a plain word"));
  EXPECT_THAT(fault_of("~: 1\n").problem, HasSubstr("A key must be a plain word"));
}

TEST(ScenarioFile, WithAMergeKeyIsToldSo) {
  EXPECT_THAT(fault_of(with_more("<<: {name: a}\n")).problem, HasSubstr("merge keys are not supported"));
}

TEST(ScenarioFile, QuotedNothingIsText) {
  EXPECT_EQ(load(with_more("description: \"null\"\n")).description, "null");
  EXPECT_EQ(load(with_more("description: \"\"\n")).description, "");
}

}  // namespace
}  // namespace lamina::scenario
