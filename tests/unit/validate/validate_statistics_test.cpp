#include "validate/statistics.hpp"

#include <gtest/gtest.h>

#include "validate/duration_samples.hpp"

namespace lamina::validate {
namespace {

TEST(Statistics, MedianIsTheMiddleOrTheMeanOfTheMiddleTwo) {
  EXPECT_DOUBLE_EQ(median({3, 1, 2}), 2);
  EXPECT_DOUBLE_EQ(median({4, 1, 3, 2}), 2.5);
  EXPECT_DOUBLE_EQ(median({}), 0);
}

TEST(Statistics, QuantilesAreValuesOfTheSample) {
  EXPECT_DOUBLE_EQ(quantile({5, 4, 3, 2, 1}, 0), 1);
  EXPECT_DOUBLE_EQ(quantile({5, 4, 3, 2, 1}, 0.25), 2);
  EXPECT_DOUBLE_EQ(quantile({5, 4, 3, 2, 1}, 1), 5);
  EXPECT_DOUBLE_EQ(quantile({}, 0.5), 0);
}

TEST(DurationSamples, RowsAreMediansByKindAndBytes) {
  graph::Operation forward;
  graph::Operation message;
  message.kind = graph::OperationKind::kReceive;
  message.bytes = 100;
  DurationSamples samples;
  samples.add(forward, 1, {2, 4});
  samples.add(forward, 3, {6, 8});
  samples.add(message, 0, {0, 0});  // takes no time in either
  const auto rows = samples.rows();
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].kind, "forward");
  EXPECT_EQ(rows[0].operations, 2);
  EXPECT_DOUBLE_EQ(rows[0].predicted_s, 2);
  EXPECT_DOUBLE_EQ(rows[0].measured_s, 5);
}

}  // namespace
}  // namespace lamina::validate
