#include <cmath>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/curves/crossings.hpp"
#include "sim/curves/picture.hpp"
#include "sim/curves/table.hpp"
#include "sim/error/error.hpp"

namespace lamina::curves {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr const char* kTable =
    "layout,rate,measured_s,predicted_s,status\n"
    "layered,1 Gbit/s,2,2.5,ok\n"
    "layered,100 Mbit/s,8,7,ok\n"
    "\"plain, sharded\",1 Gbit/s,4,,ok\n"
    "\"plain, sharded\",10 Gbit/s,,,failed\n"
    "\"plain, sharded\",100 Mbit/s,4,5,ok\n";

Table read_it(const std::string& text, const Choice& choice) {
  return read(text, "table.csv", choice);
}

std::string fault_of(const std::string& text, const Choice& choice) {
  try {
    (void)read_it(text, choice);
  } catch (const error::ScenarioError& fault) {
    return fault.what();
  }
  return "none";
}

TEST(CurveTable, MakesACurveOfEachGroupInOrderOfX) {
  const Table table = read_it(kTable, {"rate", {"measured_s", "predicted_s"}, {"layout"}});
  EXPECT_EQ(table.x_unit, "bit/s");
  EXPECT_THAT(table.groups, ElementsAre("layered", "plain, sharded"));
  ASSERT_EQ(table.columns.size(), 2U);
  const Curve& layered = table.columns[0].curves[0];
  ASSERT_EQ(layered.size(), 2U);
  EXPECT_DOUBLE_EQ(layered[0].x, 1e8);
  EXPECT_DOUBLE_EQ(layered[0].y, 8);
  EXPECT_DOUBLE_EQ(layered[1].x, 1e9);
  EXPECT_EQ(table.columns[1].curves[1].size(), 1U);  // an empty field is no value
  EXPECT_EQ(table.left_out, 1);
}

TEST(CurveTable, ReadsNumbersTimesAndBytes) {
  for (const auto& [text, value, unit] : {std::tuple("12", 12.0, ""), std::tuple("5 us", 5e-6, "s"),
                                          std::tuple("2 GiB", 2147483648.0, "B"), std::tuple("3 GB/s", 3e9, "B/s")}) {
    const Table table = read_it(std::string("x,y\n") + text + ",1\n", {"x", {"y"}, {}});
    EXPECT_EQ(table.x_unit, unit);
    EXPECT_DOUBLE_EQ(table.columns[0].curves[0][0].x, value);
    EXPECT_THAT(table.groups, ElementsAre(""));
  }
}

TEST(CurveTable, RefusesWhatItCannotDrawWithItsPlace) {
  const Choice choice{"x", {"y"}, {}};
  EXPECT_THAT(fault_of("x,y\n1,2\n1,3\n", choice), testing::AllOf(HasSubstr("table.csv:3"), HasSubstr("--by")));
  EXPECT_THAT(fault_of("x,y\nfast,2\n", choice), HasSubstr("neither a number nor a quantity"));
  EXPECT_THAT(fault_of("x,y\n1 GB,2\n3,4\n", choice), HasSubstr("another kind of quantity"));
  EXPECT_THAT(fault_of("x,y\n1,two\n", choice), HasSubstr("not a number"));
  EXPECT_THAT(fault_of("x,y\n1,\n", choice), HasSubstr("No row has a value"));
  EXPECT_THAT(fault_of("x,y\n1\n", choice), HasSubstr("1 fields"));
  EXPECT_THAT(fault_of("", choice), HasSubstr("empty"));
}

TEST(Crossing, LiesOnStraightLinesInLogarithms) {
  // y = 1/x and y = x / 100 meet at x = 10, which no point shows
  const Curve falling = {{1, 1}, {100, 0.01}};
  const Curve rising = {{1, 0.01}, {100, 1}};
  ASSERT_EQ(crossings(falling, rising, 0).size(), 1U);
  EXPECT_NEAR(crossings(falling, rising, 0)[0], 10, 1e-9);
  ASSERT_EQ(crossings(rising, falling, 0).size(), 1U);
  EXPECT_NEAR(crossings(rising, falling, 0)[0], 10, 1e-9);
}

TEST(Crossing, LiesOnStraightLinesWhereLogarithmsCannotBe) {
  const Curve falling = {{0, 2}, {10, 0}};
  const Curve rising = {{0, 0}, {10, 2}};
  EXPECT_THAT(crossings(falling, rising, 0), ElementsAre(5));
}

TEST(Crossing, TakesOnlyPointsThatBothCurvesHave) {
  const Curve first = {{1, 1}, {2, 9}, {4, 4}};
  const Curve second = {{1, 2}, {3, 0.1}, {4, 8}};
  EXPECT_THAT(crossings(first, second, 0), IsEmpty());
  EXPECT_THAT(crossings(first, {}, 0), IsEmpty());
}

TEST(Crossing, IsNotWhereCurvesTouchOrDifferByNoise) {
  const Curve flat = {{1, 1}, {2, 1}, {4, 1}, {8, 1}};
  EXPECT_THAT(crossings(flat, {{1, 2}, {2, 1}, {4, 2}, {8, 2}}, 0), IsEmpty());
  const Curve noisy = {{1, 2}, {2, 0.99}, {4, 1.01}, {8, 0.5}};
  EXPECT_EQ(crossings(flat, noisy, 0).size(), 3U);
  const auto once = crossings(flat, noisy, 0.05);
  ASSERT_EQ(once.size(), 1U);  // between the points that are clearly apart, at the first change
  EXPECT_GT(once[0], 1);
  EXPECT_LT(once[0], 2);
}

TEST(Settling, IsWhereTheCurveComesWithinReachOfItsEnd) {
  // y = 100 / x down to 1 at x = 100: 1.25 at x = 80
  const Curve curve = {{1, 100}, {10, 10}, {100, 1}};
  ASSERT_TRUE(settles_at(curve, 0.25).has_value());
  EXPECT_NEAR(*settles_at(curve, 0.25), 80, 1e-9);
  EXPECT_FALSE(settles_at(curve, 200).has_value());
  EXPECT_FALSE(settles_at({{1, 5}}, 0.25).has_value());
  EXPECT_FALSE(settles_at({}, 0.25).has_value());
  EXPECT_FALSE(settles_at({{1, -2}, {2, -1}}, 0.25).has_value());
}

TEST(Findings, ComparePlacesWithThoseOfTheFirstColumn) {
  const Table table = read_it(
      "layout,x,measured_s,predicted_s\n"
      "a,1,1,1\na,100,0.01,0.01\n"
      "b,1,0.01,0.0121\nb,100,1,1.21\n",
      {"x", {"measured_s", "predicted_s"}, {"layout"}});
  // second column: b is 1.21 times as high, so that they meet at 10 / 1.1
  const std::string text = findings(table, 0, 0.25);
  EXPECT_THAT(text, HasSubstr("a and b\n    measured_s   10.0\n    predicted_s  9.09 (-9.1 %)\n"));
  EXPECT_THAT(text, HasSubstr("everywhere in the table"));
}

TEST(CurvePicture, ShowsEveryPointWithItsValues) {
  const Table table = read_it(kTable, {"rate", {"measured_s", "predicted_s"}, {"layout"}});
  const std::string svg = to_svg(table, {"<Rates> & more", 0});
  EXPECT_THAT(svg, testing::StartsWith("<?xml"));
  EXPECT_THAT(svg, testing::EndsWith("</svg>\n"));
  EXPECT_THAT(svg, HasSubstr("&lt;Rates&gt; &amp; more"));
  EXPECT_THAT(svg, HasSubstr("<title>layered: measured_s 8.00 s at 100 Mbit/s</title>"));
  EXPECT_THAT(svg, HasSubstr("<title>plain, sharded: predicted_s 5.00 s at 100 Mbit/s</title>"));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_EQ(svg, to_svg(table, {"<Rates> & more", 0}));
}

TEST(CurvePicture, HasAnAxisForASinglePointAndForNegativeValues) {
  for (const char* text : {"x,y\n3,4\n", "x,y\n-3,-4\n0,0\n5,7\n", "x,y\n0,0\n"}) {
    const std::string svg = to_svg(read_it(text, {"x", {"y"}, {}}), {});
    EXPECT_THAT(svg, Not(HasSubstr("nan")));
    EXPECT_THAT(svg, Not(HasSubstr("inf")));
    EXPECT_THAT(svg, HasSubstr("<circle"));
  }
}

}  // namespace
}  // namespace lamina::curves
