#include "sim/sweep/journal.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace lamina::sweep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string kHead = R"({"journal":"lamina.sweep/1","points":"a"})";

class JournalFile : public testing::Test {
 protected:
  JournalFile() : file_(std::filesystem::temp_directory_path() / ("lamina_journal_" + std::to_string(getpid()))) {}

  ~JournalFile() override { std::filesystem::remove(file_); }

  [[nodiscard]] std::string content() const {
    std::ifstream stream(file_, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  void write(const std::string& text) const { std::ofstream(file_, std::ios::binary) << text; }

  [[nodiscard]] std::vector<std::string> lines(bool restart = false) const {
    auto opened = Journal::open(file_, kHead, restart);
    EXPECT_TRUE(opened.has_value()) << (opened ? "" : opened.error().reason);
    return opened ? opened->payloads : std::vector<std::string>{};
  }

  void fill() const {
    auto opened = Journal::open(file_, kHead, false);
    ASSERT_TRUE(opened.has_value());
    for (const char* line : {"row one", "row two", "row three"}) {
      opened->journal.append(line);
    }
  }

  std::filesystem::path file_;
};

TEST_F(JournalFile, GivesBackWhatWasAppended) {
  EXPECT_THAT(lines(), IsEmpty());
  fill();
  EXPECT_THAT(lines(), ElementsAre("row one", "row two", "row three"));
}

TEST_F(JournalFile, TornAtAnyByteKeepsTheWholeLinesBeforeAndGoesOn) {
  fill();
  const std::string whole = content();
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    write(whole.substr(0, size));
    const std::string kept = whole.substr(0, size);
    const auto ends = std::count(kept.begin(), kept.end(), '\n');
    const std::size_t expected = ends == 0 ? 0 : static_cast<std::size_t>(ends) - 1;  // less the head
    {
      auto opened = Journal::open(file_, kHead, false);
      ASSERT_TRUE(opened.has_value()) << size;
      ASSERT_EQ(opened->payloads.size(), expected) << size;
      opened->journal.append("row new");
    }
    ASSERT_EQ(lines().size(), expected + 1) << size;
    ASSERT_EQ(lines().back(), "row new") << size;
  }
}

TEST_F(JournalFile, AChangedByteCostsItsLineOnly) {
  fill();
  std::string text = content();
  text[text.find("two")] = 'T';
  write(text);
  EXPECT_THAT(lines(), ElementsAre("row one", "row three"));
}

TEST_F(JournalFile, OfAnotherSweepIsRefusedUntilRestart) {
  fill();
  const auto other = Journal::open(file_, R"({"journal":"lamina.sweep/1","points":"b"})", false);
  ASSERT_FALSE(other.has_value());
  EXPECT_EQ(other.error().other_head, kHead);
  EXPECT_THAT(lines(), testing::SizeIs(3));
  EXPECT_THAT(lines(true), IsEmpty());
  EXPECT_THAT(lines(), IsEmpty());
}

TEST_F(JournalFile, AForeignFileIsLeftAloneEvenByRestart) {
  write("my notes\n");
  for (const bool restart : {false, true}) {
    const auto opened = Journal::open(file_, kHead, restart);
    ASSERT_FALSE(opened.has_value());
    EXPECT_THAT(opened.error().reason, HasSubstr("no journal of a sweep"));
  }
  EXPECT_EQ(content(), "my notes\n");
}

TEST_F(JournalFile, BelongsToOneProcessAtATime) {
  auto opened = Journal::open(file_, kHead, false);
  ASSERT_TRUE(opened.has_value());
  const pid_t child = fork();
  if (child == 0) {
    const auto second = Journal::open(file_, kHead, false);
    _exit(!second && second.error().reason.find("another sweep") != std::string::npos ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace lamina::sweep
