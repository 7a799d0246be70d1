#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/command.hpp"
#include "tests/support/paths.hpp"

namespace lamina::cli_test {
namespace {

/// A command of a fenced "sh" block, and the lines of a "text" block that follows it.
struct Example {
  std::string command;
  std::vector<std::string> output;
};

/// Commands of the README that start with `lamina` or with the path of the built one.
std::vector<Example> examples_of(const std::string& markdown) {
  std::vector<Example> examples;
  std::string fence;  // language of the block we are in
  std::istringstream lines(markdown);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("```", 0) == 0) {
      fence = fence.empty() ? line.substr(3) + " " : "";
    } else if (fence == "sh " && (line.rfind("lamina ", 0) == 0 || line.rfind("build/release/bin/lamina ", 0) == 0)) {
      examples.push_back({line, {}});
    } else if (fence == "text " && !examples.empty() && !line.empty() && line != "...") {
      examples.back().output.push_back(line);
    }
  }
  return examples;
}

Outcome run_in_shell(const std::string& command, const std::filesystem::path& folder) {
  const std::string arguments = command.substr(command.find(' '));
  Invocation invocation;
  invocation.program = "/bin/sh";
  invocation.arguments = {"-c", std::string("exec '") + tests::command() + "'" + arguments};
  invocation.folder = folder;
  return run(invocation);
}

TEST(Readme, ExamplesAreFound) {
  const auto examples = examples_of("```sh\nlamina list\nls\n```\n```text\nline\n...\n```\n");
  ASSERT_EQ(examples.size(), 1U);
  EXPECT_EQ(examples[0].command, "lamina list");
  EXPECT_THAT(examples[0].output, testing::ElementsAre("line"));
}

TEST(Readme, EveryCommandWorksAndPrintsTheLinesShown) {
  const auto examples = examples_of(read_file((tests::source_folder() / "README.md").string()));
  ASSERT_GE(examples.size(), 5U);
  const TemporaryFolder folder;  // commands may write; the source tree stays clean
  std::filesystem::create_directory_symlink((tests::source_folder() / "scenarios").string(),
                                            folder.path() / "scenarios");
  for (const Example& example : examples) {
    const Outcome outcome = run_in_shell(example.command, folder.path());
    EXPECT_EQ(outcome.code, 0) << example.command << '\n' << outcome.err;
    for (const std::string& line : example.output) {
      EXPECT_THAT(outcome.out, testing::HasSubstr(line + "\n")) << example.command;
    }
  }
}

}  // namespace
}  // namespace lamina::cli_test
