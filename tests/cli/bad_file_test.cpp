#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/command.hpp"

namespace lamina::cli_test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

/// Refused within seconds, with a message that does not repeat the file.
void expect_refused_at_once(const std::string& content) {
  const TemporaryFolder folder;
  Invocation invocation;
  invocation.arguments = {"check", folder.file("odd.yaml", content)};
  invocation.timeout = std::chrono::seconds(30);
  const Outcome outcome = run(invocation);
  EXPECT_FALSE(outcome.late);
  EXPECT_EQ(outcome.code, 3) << "signal " << outcome.signal;
  EXPECT_THAT(outcome.out, IsEmpty());
  EXPECT_THAT(outcome.err, HasSubstr("odd.yaml"));
  EXPECT_LT(outcome.err.size(), 2000U);
}

TEST(BadFile, MissingFileIsNamedWithTheNearest) {
  const TemporaryFolder folder;
  ASSERT_THAT(folder.file("quick.yaml", small_scenario()), testing::EndsWith("quick.yaml"));
  const Outcome outcome = lamina({"run", (folder.path() / "quik.yaml").string()});
  EXPECT_EQ(outcome.code, 3);
  EXPECT_THAT(outcome.out, IsEmpty());
  EXPECT_THAT(outcome.err, testing::AllOf(HasSubstr("quik.yaml"), HasSubstr("quick.yaml")));
}

TEST(BadFile, UnreadableFileIsAMatterOfTheEnvironment) {
  if (is_root()) {
    GTEST_SKIP() << "root reads every file";
  }
  const TemporaryFolder folder;
  const std::string file = folder.file("secret.yaml", small_scenario());
  std::filesystem::permissions(file, std::filesystem::perms::none);
  const Outcome outcome = lamina({"run", file});
  EXPECT_EQ(outcome.code, 6);
  EXPECT_THAT(outcome.err, testing::AllOf(HasSubstr(file), HasSubstr("Permission denied")));
}

TEST(BadFile, EmptyFileIsRefused) {
  expect_refused_at_once("");
}

TEST(BadFile, BinaryFileIsRefused) {
  std::string bytes;
  constexpr int kSize = 4096;
  for (int i = 0; i < kSize; ++i) {
    bytes += static_cast<char>((i * 37) % 256);
  }
  expect_refused_at_once(bytes);
}

TEST(BadFile, HugeYamlIsRefusedAtOnce) {
  expect_refused_at_once("name: " + std::string(100'000'000, 'x') + "\n");
}

TEST(BadFile, DeeplyNestedYamlIsRefused) {
  expect_refused_at_once(std::string(100'000, '['));
}

TEST(BadFile, DeeplyIndentedYamlIsRefused) {
  std::string text;
  for (std::size_t depth = 0; depth < 1000; ++depth) {
    text += std::string(depth, ' ') + "a:\n";
  }
  expect_refused_at_once(text);
}

TEST(BadFile, AliasBombIsRefusedAtOnce) {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n";
  constexpr int kDepth = 30;
  for (int i = 1; i < kDepth; ++i) {
    const std::string previous = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + previous;
    for (int j = 1; j < 9; ++j) {
      bomb += ", " + previous;
    }
    bomb += "]\n";
  }
  expect_refused_at_once(bomb);
}

TEST(BadFile, AliasOfItselfIsRefused) {
  expect_refused_at_once("model: &a [*a]\n");
}

TEST(BadFile, ControlCharactersDoNotReachTheTerminal) {
  const TemporaryFolder folder;
  const std::string file = folder.file("odd.yaml", small_scenario_with("model: x32", "model: \"x\\e[31m32\""));
  const Outcome outcome = lamina({"check", file});
  EXPECT_EQ(outcome.code, 3);
  EXPECT_THAT(outcome.err, testing::Not(HasSubstr("\033")));
}

}  // namespace
}  // namespace lamina::cli_test
