#include <regex>
#include <string>

#include <gtest/gtest.h>

#include "tests/architecture/sources.hpp"

namespace lamina::architecture {
namespace {

/// Reports every line of code that matches, outside the rooms that may.
void expect_no_match(const std::regex& pattern, const std::string& excepted_room, const char* why) {
  for (const Source& source : read_sources({"sim", "schedules", "topologies", "validate"})) {
    if (source.room == excepted_room) {
      continue;
    }
    for (std::size_t i = 0; i < source.code_lines.size(); ++i) {
      EXPECT_FALSE(std::regex_search(source.code_lines[i], pattern))
          << place(source, i + 1) << ": " << source.raw_lines[i] << "\n"
          << why;
    }
  }
}

TEST(HouseRules, NobodyEndsTheProcess) {
  // _exit is what a forked child must call; it does not match.
  expect_no_match(std::regex(R"(\b(exit|abort|terminate|quick_exit)\s*\()"), "",
                  "library code throws or returns; main.cpp alone turns errors into exit codes");
}

TEST(HouseRules, LibraryCodeDoesNotPrint) {
  expect_no_match(std::regex(R"(std::(cout|cerr|clog)\b|\b(printf|fprintf|puts)\s*\(|fmt::print\b|spdlog::)"), "cli",
                  "only the command prints");
}

TEST(HouseRules, HeadersHaveIncludeGuardsAndNoUsingNamespace) {
  for (const Source& source : read_sources({"sim", "schedules", "topologies", "validate"})) {
    if (source.path.extension() != ".hpp") {
      continue;
    }
    ASSERT_FALSE(source.raw_lines.empty()) << source.path;
    EXPECT_EQ(source.raw_lines.front(), "#pragma once") << source.path;
    for (std::size_t i = 0; i < source.code_lines.size(); ++i) {
      EXPECT_EQ(source.code_lines[i].find("using namespace"), std::string::npos) << place(source, i + 1);
    }
  }
}

TEST(HouseRules, FilesStayBelowFiveHundredLines) {
  for (const Source& source : read_sources({"sim", "schedules", "topologies", "validate", "tests"})) {
    EXPECT_LE(source.raw_lines.size(), 500U) << source.path;
  }
}

TEST(HouseRules, NoUnfinishedWorkIsMarked) {
  const std::regex mark(std::string(R"(\b()") + "TO" + "DO|FIX" + "ME|XX" + R"(X\b))");
  for (const Source& source : read_sources({"sim", "schedules", "topologies", "validate", "tests"})) {
    for (std::size_t i = 0; i < source.raw_lines.size(); ++i) {
      EXPECT_FALSE(std::regex_search(source.raw_lines[i], mark)) << place(source, i + 1) << ": " << source.raw_lines[i];
    }
  }
}

}  // namespace
}  // namespace lamina::architecture
