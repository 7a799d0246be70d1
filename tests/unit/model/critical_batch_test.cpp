#include <cmath>

#include <gtest/gtest.h>

#include "sim/model/work.hpp"

namespace lamina::model {
namespace {

constexpr double kX160Parameters = 12 * 160.0 * 160 * 160 * 160 * 160;

// arXiv 2106.02679: 82.0 x^(2/3) sequences of 16 x tokens; 2416 for X_160, 1312 for X_64.
TEST(CriticalBatch, OfTheXFamilyIs82XToTheTwoThirds) {
  const auto sequences = [](int x) {
    return critical_batch(scenario::BatchLaw::kLayeredModular2021, 12 * std::pow(x, 5), 16.0 * x);
  };
  EXPECT_NEAR(sequences(160), 2416.4, 0.5);
  EXPECT_NEAR(sequences(64), 1312, 0.5);
  EXPECT_NEAR(sequences(400) / std::pow(400, 2.0 / 3), 82.0, 0.05);
}

// The anchor of the law: GPT-3 (non-embedding 1.739e11) trained with batches of 3.2e6 tokens (arXiv 2005.14165).
TEST(CriticalBatch, OfGpt3IsItsTrainingBatch) {
  const double tokens = critical_batch(scenario::BatchLaw::kLayeredModular2021, 1.739e11, 1);
  EXPECT_NEAR(tokens / 3.2e6, 1, 0.001);
}

// Kaplan et al. at convergence: X_160 has L = 69.95^0.076 = 1.381, B_crit = 2e8 / 1.381^4.762 = 4.30e7 tokens.
TEST(CriticalBatch, OfKaplanIsAbout16800SequencesForX160) {
  EXPECT_NEAR(critical_batch(scenario::BatchLaw::kKaplan2020, kX160Parameters, 2560), 16800, 50);
}

TEST(CriticalBatch, OfKaplanIsTheFullTwoHundredMillionTokensAtALossOfOne) {
  EXPECT_NEAR(critical_batch(scenario::BatchLaw::kKaplan2020, 8.8e13, 1), 2e8, 1);
}

TEST(CriticalBatch, IsNotANumberWithoutALaw) {
  EXPECT_TRUE(std::isnan(critical_batch(scenario::BatchLaw::kNone, 1e12, 2048)));
}

}  // namespace
}  // namespace lamina::model
