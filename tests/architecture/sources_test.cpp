#include "tests/architecture/sources.hpp"

#include <algorithm>
#include <fstream>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "tests/support/paths.hpp"

namespace lamina::architecture {
namespace {

std::string room_of(const std::filesystem::path& relative) {
  auto part = relative.begin();
  const std::string top = part->string();
  return top == "sim" ? (++part)->string() : top;
}

/// Blanks out // and /* */ comments, and the content of string and character literals.
std::vector<std::string> without_comments(const std::vector<std::string>& lines) {
  std::vector<std::string> result;
  bool in_block = false;
  for (const std::string& line : lines) {
    std::string code;
    char quote = 0;
    for (std::size_t i = 0; i < line.size(); ++i) {
      const char next = i + 1 < line.size() ? line[i + 1] : '\0';
      if (in_block) {
        in_block = !(line[i] == '*' && next == '/');
        i += in_block ? 0 : 1;
      } else if (quote != 0) {
        i += line[i] == '\\' ? 1 : 0;
        if (i < line.size() && line[i] == quote && line[i - 1] != '\\') {
          quote = 0;
          code += line[i];
        }
      } else if (line[i] == '/' && next == '/') {
        break;
      } else if (line[i] == '/' && next == '*') {
        in_block = true;
        ++i;
      } else {
        const bool digit_separator =
            line[i] == '\'' && i > 0 && std::isalnum(static_cast<unsigned char>(line[i - 1])) != 0;
        quote = (line[i] == '"' || line[i] == '\'') && !digit_separator ? line[i] : '\0';
        code += line[i];
      }
    }
    result.push_back(code);
  }
  return result;
}

}  // namespace

std::vector<Source> read_sources(const std::vector<std::string>& top_folders) {
  const std::filesystem::path root = tests::source_folder();
  std::vector<Source> result;
  for (const std::string& top : top_folders) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root / top)) {
      const std::string extension = entry.path().extension().string();
      if (!entry.is_regular_file() || (extension != ".hpp" && extension != ".cpp")) {
        continue;
      }
      Source source;
      source.path = std::filesystem::relative(entry.path(), root);
      source.room = room_of(source.path);
      std::ifstream file(entry.path());
      for (std::string line; std::getline(file, line);) {
        source.raw_lines.push_back(line);
      }
      source.code_lines = without_comments(source.raw_lines);
      result.push_back(std::move(source));
    }
  }
  std::sort(result.begin(), result.end(), [](const Source& a, const Source& b) { return a.path < b.path; });
  return result;
}

std::vector<Include> includes_of(const Source& source) {
  std::vector<Include> result;
  for (std::size_t i = 0; i < source.raw_lines.size(); ++i) {
    const std::string& line = source.raw_lines[i];
    if (line.rfind("#include", 0) != 0) {
      continue;
    }
    const std::size_t open = line.find_first_of("<\"");
    const std::size_t close = line.find_first_of(">\"", open + 1);
    if (open != std::string::npos && close != std::string::npos) {
      result.push_back({line.substr(open + 1, close - open - 1), line[open] == '"', static_cast<int>(i) + 1});
    }
  }
  return result;
}

std::string place(const Source& source, std::size_t line) {
  return fmt::format("{}:{}", source.path.string(), line);
}

TEST(SourceReader, RemovesCommentsAndLiteralsButKeepsCode) {
  const std::vector<std::string> lines = {"int a;  // exit(1)", "/* abort()", "abort() */ int b;", "f(\"exit(\");",
                                          "long c = 1'000; g('\"'); h();"};
  EXPECT_EQ(without_comments(lines),
            (std::vector<std::string>{"int a;  ", "", " int b;", "f(\"\");", "long c = 1'000; g(''); h();"}));
}

TEST(SourceReader, FindsTheSimulatorsOwnFiles) {
  const auto sources = read_sources({"sim", "schedules", "topologies"});
  const auto is_main = [](const Source& source) { return source.path == "sim/cli/main.cpp"; };
  ASSERT_EQ(std::count_if(sources.begin(), sources.end(), is_main), 1);
  EXPECT_EQ(std::find_if(sources.begin(), sources.end(), is_main)->room, "cli");
  EXPECT_GT(sources.size(), 20U);
}

}  // namespace lamina::architecture
