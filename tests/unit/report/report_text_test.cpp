#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "sim/report/text.hpp"

namespace lamina::report {
namespace {

TEST(Printable, ReplacesControlCharactersSoThatNoNameCanStartAnEscapeSequence) {
  EXPECT_EQ(printable("a\x1b[31mb\nc\td\x7f"), "a [31mb c d ");
  EXPECT_EQ(printable("a\xc2\x9b"
                      "31m"),
            "a 31m");  // U+009B, the one-character CSI
}

TEST(Printable, ReplacesInvalidUtf8ByQuestionMarks) {
  EXPECT_EQ(printable("\xff"
                      "a"),
            "?a");
  EXPECT_EQ(printable("\xc0\xaf"), "??");            // overlong slash
  EXPECT_EQ(printable("\xed\xa0\x80"), "???");       // surrogate
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "????");  // above U+10FFFF
  EXPECT_EQ(printable("caf\xc3"), "caf?");           // cut short
}

TEST(Printable, DropsDirectionalMarks) {
  EXPECT_EQ(printable("a\u202eb\u200bc"), "abc");
}

TEST(Printable, KeepsValidText) {
  EXPECT_EQ(printable("größe 模型 🚀"), "größe 模型 🚀");
}

TEST(DisplayWidth, CountsColumnsNotBytes) {
  EXPECT_EQ(display_width("abc"), 3U);
  EXPECT_EQ(display_width("größe"), 5U);
  EXPECT_EQ(display_width("模型"), 4U);
  EXPECT_EQ(display_width("🚀"), 2U);
  EXPECT_EQ(display_width("e\u0301"), 1U);  // combining acute accent
  EXPECT_EQ(display_width("─█…"), 3U);
}

TEST(Truncate, EndsInAnEllipsisAndFits) {
  EXPECT_EQ(truncate("short", 5), "short");
  EXPECT_EQ(truncate("longer", 5), "long…");
  EXPECT_EQ(truncate("模型模型", 4), "模…");  // a wide character does not straddle the edge
  EXPECT_EQ(truncate("anything", 0), "");
}

TEST(Pad, FillsToExactlyTheColumnsAskedFor) {
  EXPECT_EQ(pad_right("模型", 6), "模型  ");
  EXPECT_EQ(pad_left("7", 3), "  7");
  EXPECT_EQ(display_width(pad_left("a very long cell", 6)), 6U);
}

TEST(Wrap, BreaksAtSpaces) {
  EXPECT_EQ(wrap("one two three", 7), (std::vector<std::string>{"one two", "three"}));
  EXPECT_EQ(wrap("", 10), std::vector<std::string>{""});
}

TEST(Wrap, KeepsAUnitOnTheLineOfItsNumber) {
  EXPECT_EQ(wrap("takes 207 ms, then", 10), (std::vector<std::string>{"takes", "207 ms,", "then"}));
  EXPECT_EQ(wrap("by 3.2 %.", 7), (std::vector<std::string>{"by", "3.2 %."}));
  EXPECT_EQ(wrap("layer 31 means", 8), (std::vector<std::string>{"layer 31", "means"}));
}

TEST(Wrap, CutsWordsThatAreLongerThanALine) {
  EXPECT_EQ(wrap("ab cdefghij k", 4), (std::vector<std::string>{"ab", "cdef", "ghij", "k"}));
}

TEST(Wrap, LosesNoCharacterOfAnyWord) {
  const std::string text = "x" + std::string(500, 'y') + " z 模型模型模型";
  std::string joined;
  for (const std::string& line : wrap(text, 7)) {
    EXPECT_LE(display_width(line), 7U);
    joined += line;
  }
  std::string expected = text;
  std::erase(expected, ' ');
  std::erase(joined, ' ');
  EXPECT_EQ(joined, expected);
}

TEST(Bar, IsAsLongAsItsShare) {
  EXPECT_EQ(bar(0.5, 4), "██");
  EXPECT_EQ(bar(1.0 / 16, 2), "▏");
  EXPECT_EQ(bar(7.0, 3), "███");
  EXPECT_EQ(bar(-1, 3), "");
  EXPECT_EQ(bar(std::numeric_limits<double>::quiet_NaN(), 3), "");
}

}  // namespace
}  // namespace lamina::report
