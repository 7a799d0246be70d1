#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/command.hpp"
#include "tests/support/paths.hpp"

namespace lamina::cli_test {
namespace {

/// The build folder of the tested command: two levels above build/bin/lamina.
std::filesystem::path build_folder() {
  return std::filesystem::path(tests::command()).parent_path().parent_path();
}

std::string run_built_command(const std::filesystem::path& folder) {
  Invocation invocation;
  invocation.arguments = {"run", "mine.yaml"};
  invocation.folder = folder;
  return run(invocation).out;
}

TEST(Install, GivesACommandThatFindsItsCatalogues) {
  const TemporaryFolder prefix;
  const TemporaryFolder elsewhere;
  Invocation install;
  install.program = "/usr/bin/cmake";
  install.arguments = {"--install", build_folder().string(), "--prefix", prefix.path().string()};
  const Outcome installed = run(install);
  ASSERT_EQ(installed.code, 0) << installed.out << installed.err;
  std::filesystem::copy_file((tests::source_folder() / "scenarios/quickstart.yaml").string(),
                             elsewhere.path() / "mine.yaml");

  Invocation invocation;
  invocation.program = (prefix.path() / "bin" / "lamina").string();
  invocation.arguments = {"run", "mine.yaml"};
  invocation.folder = elsewhere.path();
  const Outcome outcome = run(invocation);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, run_built_command(elsewhere.path()));

  EXPECT_TRUE(std::filesystem::exists(prefix.path() / "share/lamina/quickstart.yaml"));
  const auto catalogue = prefix.path() / "share/lamina/models/x-family.yaml";
  ASSERT_TRUE(std::filesystem::exists(catalogue));
  std::ofstream(catalogue) << "[";
  EXPECT_THAT(run(invocation).err, testing::HasSubstr(catalogue.string())) << "not the source tree's catalogue";
}

TEST(Install, BuiltCommandWorksFromAnyFolder) {
  const TemporaryFolder elsewhere;
  Invocation invocation;
  invocation.folder = elsewhere.path();
  invocation.arguments = {"run", (tests::source_folder() / "scenarios/quickstart.yaml").string()};
  EXPECT_EQ(run(invocation).code, 0);
}

}  // namespace
}  // namespace lamina::cli_test
