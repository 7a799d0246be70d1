#include "sim/requirements/least.hpp"

#include <algorithm>
#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "sim/error/error.hpp"

namespace lamina::requirements {
namespace {

Search from(double target, double lower, double most = 1e6) {
  Search search;
  search.target = target;
  search.lower = lower;
  search.most = most;
  return search;
}

TEST(LeastThatMeets, IsTheClosedFormOfATransferAfterWork) {
  // 10 s of work and then 3 bytes at x bytes/s: 10 + 3 / x <= 10.5 from x = 6 on.
  const Least least = least_that_meets([](double x) { return 10 + 3 / x; }, from(10.5, 0.2));
  ASSERT_TRUE(least.value);
  EXPECT_GE(*least.value, 6);
  EXPECT_LE(*least.value, 6 * 1.03);
  EXPECT_LE(least.evaluations, 12);
}

TEST(LeastThatMeets, IsTheClosedFormOfATransferBesideWork) {
  // Hidden until 30 / x exceeds 10 s; 10.5 s are allowed.
  const Least least = least_that_meets([](double x) { return std::max(10.0, 30 / x); }, from(10.5, 0.1));
  ASSERT_TRUE(least.value);
  EXPECT_GE(*least.value, 30 / 10.5);
  EXPECT_LE(*least.value, 30 / 10.5 * 1.03);
}

TEST(LeastThatMeets, IsTheLowerBoundItselfWhenThatIsJustEnough) {
  const Least least = least_that_meets([](double) { return 1.0; }, from(1, 5));
  ASSERT_TRUE(least.value);
  EXPECT_GE(*least.value, 5);
  EXPECT_LE(*least.value, 5 * 1.03);
}

TEST(LeastThatMeets, IsNothingWhenLatencyAloneIsTooMuch) {
  const Least least = least_that_meets([](double x) { return 12 + 3 / x; }, from(10.5, 0.2));
  EXPECT_FALSE(least.value);
  EXPECT_LE(least.evaluations, 10);
}

TEST(LeastThatMeets, NeverLooksBeyondWhatIsKnownToBeEnough) {
  Search search = from(10.5, 0.2);
  search.upper = 7.0;
  double largest = 0;
  const Least least = least_that_meets(
      [&](double x) {
        largest = std::max(largest, x);
        return 10 + 3 / x;
      },
      search);
  ASSERT_TRUE(least.value);
  EXPECT_LT(largest, 7.0);
  EXPECT_GE(*least.value, 6);
  EXPECT_LE(*least.value, 6 * 1.03);
}

TEST(LeastThatMeets, IsWhatIsKnownToBeEnoughWhenNothingLessIs) {
  Search search = from(10.5, 0.2);
  search.upper = 6.0;
  const Least least = least_that_meets([](double x) { return 10 + 3 / x; }, search);
  ASSERT_TRUE(least.value);
  EXPECT_DOUBLE_EQ(*least.value, 6.0);
}

TEST(LeastThatMeets, FindsAStep) {
  const Least least = least_that_meets([](double x) { return x < 123 ? 2.0 : 1.0; }, from(1.5, 1e-3));
  ASSERT_TRUE(least.value);
  EXPECT_GE(*least.value, 123);
  EXPECT_LE(*least.value, 123 * 1.03);
}

TEST(LeastThatMeets, IsWithinThePrecisionForRandomSumsOfTransfers) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> exponent(-3, 3);
  for (int trial = 0; trial < 200; ++trial) {
    // Work, a transfer that nothing hides and one beside the work; convex and falling, as step times are.
    const double work = std::pow(10, exponent(random));
    const double exposed = std::pow(10, exponent(random));
    const double hidden = std::pow(10, exponent(random));
    const auto time = [&](double x) { return std::max(work, hidden / x) + exposed / x; };
    const double target = 1.05 * work;
    const double exact = std::max(exposed / (0.05 * work), (hidden + exposed) / target);
    const double lower = std::min(exact, (hidden + exposed) / target);
    const Least least = least_that_meets(time, from(target, lower, 1e12));
    ASSERT_TRUE(least.value);
    EXPECT_GE(*least.value, exact * (1 - 1e-9));
    EXPECT_LE(*least.value, exact * 1.03 * (1 + 1e-9));
    EXPECT_LE(least.evaluations, 16);
  }
}

TEST(LeastThatMeets, RefusesABracketThatIsNone) {
  const auto time = [](double) { return 1.0; };
  EXPECT_THROW((void)least_that_meets(time, from(1, 0)), error::InternalError);
  EXPECT_THROW((void)least_that_meets(time, from(1, 2, 1)), error::InternalError);
  Search reversed = from(1, 2);
  reversed.upper = 1;
  EXPECT_THROW((void)least_that_meets(time, reversed), error::InternalError);
}

}  // namespace
}  // namespace lamina::requirements
