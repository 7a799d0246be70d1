#include "sim/score/statistics.hpp"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lamina::score {
namespace {

TEST(ScoreStatistics, MeanMedianAndBiasAreThoseOfTheDefinition) {
  const Errors errors = errors_of({0.1, -0.3, 0.2, -0.4});
  EXPECT_EQ(errors.rows, 4);
  EXPECT_DOUBLE_EQ(errors.mean_absolute, 0.25);
  EXPECT_DOUBLE_EQ(errors.median_absolute, 0.25);  // of 0.1, 0.2, 0.3, 0.4
  EXPECT_DOUBLE_EQ(errors.largest_absolute, 0.4);
  EXPECT_DOUBLE_EQ(errors.bias, -0.1);
  EXPECT_DOUBLE_EQ(errors.median_signed, -0.1);  // of -0.4, -0.3, 0.1, 0.2
}

TEST(ScoreStatistics, NoRowsHaveNoErrors) {
  EXPECT_EQ(errors_of({}).rows, 0);
  EXPECT_TRUE(std::isnan(errors_of({}).mean_absolute));
  EXPECT_TRUE(std::isnan(pairs_of({{1, 1, ""}}, false).share()));
}

TEST(ScoreStatistics, PairsThatWereMeasuredEqualDoNotCountAndEqualPredictionsAreNoOrder) {
  const std::vector<Comparison> rows = {{1, 1, "a"}, {2, 1, "a"}, {2, 3, "b"}, {4, 2, "b"}};
  const Pairs all = pairs_of(rows, false);
  EXPECT_EQ(all.pairs, 5);     // not the second and the third
  EXPECT_EQ(all.in_order, 3);  // 1-3, 1-4, 2-4; 1-2 is a tie, 3-4 reversed
  const Pairs within = pairs_of(rows, true);
  EXPECT_EQ(within.pairs, 2);
  EXPECT_EQ(within.in_order, 0);
}

}  // namespace
}  // namespace lamina::score
