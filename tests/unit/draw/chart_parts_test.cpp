// Axis, hatching and colours of the charts.
#include <algorithm>
#include <cmath>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sim/draw/axis.hpp"
#include "sim/draw/layout.hpp"
#include "sim/draw/legend.hpp"
#include "sim/draw/palette.hpp"
#include "sim/draw/svg_text.hpp"

namespace lamina::draw {
namespace {

TEST(Axis, TicksAreRoundTimesInOneUnit) {
  const std::vector<Tick> marks = ticks(0, 0.437, true, 10);
  ASSERT_EQ(marks.size(), 9U);
  EXPECT_EQ(marks.front().label, "0");
  EXPECT_EQ(marks[1].label, "50 ms");
  EXPECT_NEAR(marks[1].time, 0.05, 1e-12);
  EXPECT_EQ(marks.back().label, "400 ms");
}

TEST(Axis, TicksStartInsideAWindow) {
  const std::vector<Tick> marks = ticks(1.3, 2.1, true, 4);
  ASSERT_EQ(marks.size(), 4U);
  EXPECT_EQ(marks.front().label, "1.4 s");
  EXPECT_EQ(marks.back().label, "2.0 s");
}

TEST(Axis, UnitsHaveNoName) {
  EXPECT_EQ(ticks(0, 33, false, 8)[1].label, "5");
  EXPECT_EQ(ticks(0, 0.5, false, 5)[1].label, "0.1");
}

TEST(Axis, NeverHasMoreIntervalsThanAsked) {
  for (const double end : {1e-9, 3.3e-6, 0.07, 0.99999, 1.0, 6.43, 237.0, 1e5}) {
    for (const int most : {1, 3, 10}) {
      const std::size_t marks = ticks(0, end, true, most).size();
      EXPECT_LE(marks, static_cast<std::size_t>(most) + 1) << end;
      EXPECT_GE(marks, 1U) << end;
    }
  }
}

TEST(Axis, NoTimeHasNoTicks) {
  EXPECT_TRUE(ticks(0, 0, true, 5).empty());
  EXPECT_TRUE(ticks(2, 1, true, 5).empty());
  EXPECT_TRUE(ticks(0, INFINITY, true, 5).empty());
}

TEST(Hatching, StaysInItsRectangle) {
  const std::string path = hatching(10, 20, 17, 30);
  const std::regex point("[ML]([0-9.]+) ([0-9.]+)");
  int points = 0;
  for (auto match = std::sregex_iterator(path.begin(), path.end(), point); match != std::sregex_iterator(); ++match) {
    const double x = std::stod((*match)[1]);
    const double y = std::stod((*match)[2]);
    EXPECT_GE(x, 10);
    EXPECT_LE(x, 27);
    EXPECT_GE(y, 20);
    EXPECT_LE(y, 50);
    ++points;
  }
  EXPECT_GT(points, 10);
  EXPECT_EQ(hatching(10, 20, 1, 30), "");
}

TEST(Palette, ShadesOfAKindDiffer) {
  for (const Kind kind : {Kind::kForward, Kind::kBackward, Kind::kInputGradient, Kind::kWeightGradient}) {
    for (const int shades : {2, 4, 8}) {
      std::set<std::string> fills;
      for (int shade = 0; shade < shades; ++shade) {
        fills.insert(paint(kind, shade, shades).fill);
      }
      EXPECT_EQ(fills.size(), static_cast<std::size_t>(shades)) << name_of(kind);
    }
  }
}

double luminance(const std::string& colour) {
  double sum = 0;
  const double weights[] = {0.2126, 0.7152, 0.0722};
  for (std::size_t channel = 0; channel < 3; ++channel) {
    const double share = std::stoi(colour.substr(1 + 2 * channel, 2), nullptr, 16) / 255.0;
    sum += weights[channel] * (share <= 0.03928 ? share / 12.92 : std::pow((share + 0.055) / 1.055, 2.4));
  }
  return sum;
}

TEST(Palette, NumbersStandOutFromTheirCells) {
  for (const Kind kind : {Kind::kForward, Kind::kBackward, Kind::kInputGradient, Kind::kWeightGradient}) {
    for (int shade = 0; shade < 16; ++shade) {
      const Paint colours = paint(kind, shade, 16);
      const double fill = luminance(colours.fill);
      const double text = luminance(colours.text);
      // Contrast of WCAG 2.1 for large text: 3; ours are small, so more.
      EXPECT_GE((std::max(fill, text) + 0.05) / (std::min(fill, text) + 0.05), 3.9) << name_of(kind) << shade;
    }
  }
}

TEST(TextWidth, IsNotBelowWhatDejaVuSansPrints) {
  // Advances of DejaVu Sans 2.37 in em: digit 0.636, "m" 0.974, "W" 0.989, "i" 0.278, space 0.318.
  EXPECT_GE(text_width("0123456789", 10), 63.6);
  EXPECT_GE(text_width("mW", 10), 9.74 + 9.89);
  EXPECT_GE(text_width("i i", 10), 2 * 2.78 + 3.18);
}

TEST(Decimal, HasAtMostTwoDigitsAfterThePoint) {
  EXPECT_EQ(decimal(3), "3");
  EXPECT_EQ(decimal(2.5), "2.5");
  EXPECT_EQ(decimal(1.0 / 3), "0.33");
  EXPECT_EQ(decimal(-0.001), "0");
  EXPECT_EQ(decimal(1200), "1200");
}

}  // namespace
}  // namespace lamina::draw
