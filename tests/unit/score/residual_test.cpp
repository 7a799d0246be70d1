#include "sim/score/residual.hpp"

#include <algorithm>
#include <cmath>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lamina::score {
namespace {

StepError row(double measured, double products, double tensor) {
  StepError result{measured, products + tensor, {}};
  result.families[static_cast<std::size_t>(Family::kMatrixProducts)] = products;
  result.families[static_cast<std::size_t>(Family::kTensor)] = tensor;
  return result;
}

double error_with(const std::vector<StepError>& rows, Family family, double factor) {
  double sum = 0;
  for (const StepError& r : rows) {
    sum += std::abs(r.predicted_s + (factor - 1) * r.families[static_cast<std::size_t>(family)] - r.measured_s) /
           r.measured_s;
  }
  return sum / static_cast<double>(rows.size());
}

TEST(FamilyFit, FindsTheFamilyThatIsOffAndByHowMuch) {
  std::vector<StepError> rows;
  for (const double tensor : {0.1, 0.2, 0.4}) {
    rows.push_back(row(1 + 1.5 * tensor, 1, tensor));  // measured: communication takes half as long again
  }
  const auto fits = fit_families(rows);
  ASSERT_EQ(fits.size(), 3U);  // the whole step and two families that have time
  EXPECT_EQ(fits.front().family, Family::kTensor);
  EXPECT_NEAR(fits.front().factor, 1.5, 1e-12);
  EXPECT_NEAR(fits.front().mean_absolute, 0, 1e-12);
  EXPECT_NEAR(fits.front().share, (0.1 / 1.1 + 0.2 / 1.2 + 0.4 / 1.4) / 3, 1e-12);
}

TEST(FamilyFit, NoOtherFactorIsBetter) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> value(0.1, 2);
  std::vector<StepError> rows;
  for (int i = 0; i < 41; ++i) {
    rows.push_back(row(value(random), value(random), value(random)));
  }
  for (const FamilyFit& fit : fit_families(rows)) {
    if (!fit.family) {
      continue;
    }
    EXPECT_NEAR(fit.mean_absolute, error_with(rows, *fit.family, fit.factor), 1e-12);
    for (int step = 0; step <= 400; ++step) {
      EXPECT_GE(error_with(rows, *fit.family, step / 100.0), fit.mean_absolute - 1e-12);
    }
  }
}

TEST(FamilyFit, AFamilyOfLessThanAHundredthOfTheStepHasNoFactor) {
  const auto has_tensor = [](double tensor) {
    const auto fits = fit_families({row(2, 1, tensor)});
    return std::any_of(fits.begin(), fits.end(), [](const FamilyFit& fit) { return fit.family == Family::kTensor; });
  };
  EXPECT_FALSE(has_tensor(0.009));
  EXPECT_TRUE(has_tensor(0.011));
}

TEST(FamilyFit, FactorsAreNotNegative) {
  const auto fits = fit_families({row(0.5, 1, 0.1)});  // even without communication it is too slow
  const auto tensor =
      std::find_if(fits.begin(), fits.end(), [](const FamilyFit& fit) { return fit.family == Family::kTensor; });
  ASSERT_NE(tensor, fits.end());
  EXPECT_EQ(tensor->factor, 0);
  EXPECT_NEAR(tensor->mean_absolute, 1, 1e-12);
}

TEST(ErrorsByColumn, EveryValueOfAFewHasAGroup) {
  const auto errors = errors_by("tp", {"8", "2", "8", "16"}, {0.1, 0.2, 0.3, 0.4});
  ASSERT_TRUE(errors.has_value());
  ASSERT_EQ(errors->groups.size(), 3U);
  EXPECT_EQ(errors->groups[0].label, "2");
  EXPECT_EQ(errors->groups[2].label, "16");
  EXPECT_EQ(errors->groups[1].rows, 2U);
  EXPECT_DOUBLE_EQ(errors->groups[1].median_signed, 0.2);
  // distances from the median of all, 0.25: 0.15 + 0.05 + 0.05 + 0.15; within groups: 0.1 + 0.1
  EXPECT_NEAR(errors->explained, 0.5, 1e-12);
}

TEST(ErrorsByColumn, ManyNumbersFallIntoQuarters) {
  std::vector<std::string> cells;
  std::vector<double> errors;
  for (int i = 1; i <= 12; ++i) {
    cells.push_back(std::to_string(i));
    errors.push_back(i / 100.0);
  }
  const auto groups = errors_by("x", cells, errors);
  ASSERT_TRUE(groups.has_value());
  ASSERT_EQ(groups->groups.size(), 4U);
  EXPECT_EQ(groups->groups[0].label, "1 to 3");
  EXPECT_EQ(groups->groups[3].label, "10 to 12");
  EXPECT_EQ(groups->groups[3].rows, 3U);
  EXPECT_DOUBLE_EQ(groups->groups[3].median_signed, 0.11);
}

TEST(ErrorsByColumn, OneValueAndManyWordsExplainNothing) {
  EXPECT_FALSE(errors_by("x", {"1", "1"}, {0.1, 0.2}).has_value());
  EXPECT_FALSE(errors_by("x", {"a", "b", "c", "d", "e", "f", "g", "h", "i"}, {1, 2, 3, 4, 5, 6, 7, 8, 9}).has_value());
}

}  // namespace
}  // namespace lamina::score
