#include <limits>

#include <gtest/gtest.h>

#include "sim/report/format.hpp"

namespace lamina::report {
namespace {

TEST(ThreeDigits, KeepsThreeSignificantDigits) {
  EXPECT_EQ(three_digits(6.1), "6.10");
  EXPECT_EQ(three_digits(61), "61.0");
  EXPECT_EQ(three_digits(6100.4), "6,100");
  EXPECT_EQ(three_digits(0.01234), "0.0123");
  EXPECT_EQ(three_digits(0), "0");
  EXPECT_EQ(three_digits(-0.85), "-0.850");
}

TEST(ThreeDigits, DoesNotGainADigitWhenRoundingUp) {
  EXPECT_EQ(three_digits(9.996), "10.0");
  EXPECT_EQ(three_digits(99.96), "100");
  EXPECT_EQ(three_digits(0.99951), "1.00");
}

TEST(ThreeDigits, UsesExponentsForVerySmallAndVeryLargeValues) {
  EXPECT_EQ(three_digits(1.234e-7), "1.23e-07");
  EXPECT_EQ(three_digits(1.234e15), "1.23e+15");
}

TEST(Whole, GroupsThousands) {
  EXPECT_EQ(whole(38640), "38,640");
  EXPECT_EQ(whole(999), "999");
  EXPECT_EQ(whole(-1234567), "-1,234,567");
}

TEST(Seconds, ChoosesTheUnit) {
  EXPECT_EQ(seconds(6.1), "6.10 s");
  EXPECT_EQ(seconds(0.0123), "12.3 ms");
  EXPECT_EQ(seconds(45.6e-6), "45.6 us");
  EXPECT_EQ(seconds(7e-9), "7.00 ns");
  EXPECT_EQ(seconds(0), "0 s");
}

TEST(Bytes, ArePowersOf1024InMemoryAndOf1000OnLinks) {
  EXPECT_EQ(binary_bytes(80.0 * 1024 * 1024 * 1024), "80.0 GiB");
  EXPECT_EQ(decimal_bytes(40.1e9), "40.1 GB");
  EXPECT_EQ(byte_rate(25e9), "25.0 GB/s");
  EXPECT_EQ(binary_bytes(512), "512 B");
}

TEST(Scaled, NeverPrintsAThousandOfAUnit) {
  EXPECT_EQ(scaled(999.7), "1.00 k");
  EXPECT_EQ(scaled(1011849), "1.01 M");
  EXPECT_EQ(in_words(618e9), "618 billion");
}

TEST(Percent, ShowsASignOnDemand) {
  EXPECT_EQ(percent(0.852), "85.2 %");
  EXPECT_EQ(percent(0.009, true), "+0.9 %");
  EXPECT_EQ(percent(-2.5, true), "-250 %");
  EXPECT_EQ(percent(-0.0004, true), "0.0 %");
}

TEST(Numbers, ThatAreNotFiniteReadNotAvailable) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double value : {nan, infinity, -infinity}) {
    EXPECT_EQ(three_digits(value), "n/a");
    EXPECT_EQ(whole(value), "n/a");
    EXPECT_EQ(seconds(value), "n/a");
    EXPECT_EQ(binary_bytes(value), "n/a");
    EXPECT_EQ(percent(value, true), "n/a");
  }
}

}  // namespace
}  // namespace lamina::report
