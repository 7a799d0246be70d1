#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "tests/support/numeric_step.hpp"
#include "validate/numeric/reference.hpp"

namespace lamina::validate::numeric {
namespace {

constexpr int kSequences = 3;

Shape tiny(bool tied = false) {
  scenario::Scenario scenario = tests::tiny_decoder(2);
  scenario.model.tied_embeddings = tied;
  return *shape_of(scenario);
}

/// Changes one weight both ways; a tied matrix in both places where it stands.
double slope(const Shape& shape, LayerValues weights, std::size_t layer, std::size_t i, bool own_matrix) {
  constexpr double kStep = 1e-5;
  const auto matrix = parameters_of(shape, shape.layers, true)[slot::kMatrix];
  const auto shift = [&](double by) {
    weights[layer][i] += by;
    if (shape.tied && own_matrix && layer == 0 && i < matrix.size()) {
      weights.back()[matrix.offset + i] += by;
    }
  };
  shift(kStep);
  const double above = loss_of(shape, weights, kSequences);
  shift(-2 * kStep);
  return (above - loss_of(shape, weights, kSequences)) / (2 * kStep);
}

void expect_slopes(const Shape& shape, bool own_matrix) {
  const LayerValues weights = initial_weights(shape, own_matrix);
  const ReferenceStep step = reference_step(shape, own_matrix, kSequences, {});
  EXPECT_NEAR(step.loss, loss_of(shape, weights, kSequences), 1e-12);
  const bool copy = shape.tied && own_matrix;
  for (std::size_t layer = 0; layer < weights.size(); ++layer) {
    const std::size_t end = copy && layer + 1 == weights.size()
                                ? parameters_of(shape, shape.layers, true)[slot::kMatrix].offset
                                : weights[layer].size();
    for (std::size_t i = 0; i < end; ++i) {
      // Central differences: rounding of the loss, 1e-16 / 1e-5, and third derivatives times 1e-10.
      ASSERT_NEAR(step.gradients[layer][i], slope(shape, weights, layer, i, own_matrix), 1e-9)
          << "layer " << static_cast<int>(layer) - 1 << ", weight " << i;
    }
  }
}

TEST(NumericReference, GradientsAreTheSlopesOfTheLoss) {
  expect_slopes(tiny(), true);
}

TEST(NumericReference, GradientsOfATiedMatrixCountBothItsUses) {
  expect_slopes(tiny(true), true);
  expect_slopes(tiny(true), false);
}

TEST(NumericReference, LossOfAnUntrainedModelIsNearTheEntropyOfTheVocabulary) {
  const Shape shape = tiny();
  EXPECT_NEAR(reference_step(shape, true, kSequences, {}).loss, std::log(shape.vocabulary), 1.0);
}

TEST(NumericReference, TheUpdateFollowsTheGradientUpToTheLimitOfItsNorm) {
  const Shape shape = tiny();
  const LayerValues before = initial_weights(shape, true);
  const ReferenceStep free = reference_step(shape, true, kSequences, {.rate = 2, .clip = 0});
  const ReferenceStep cut = reference_step(shape, true, kSequences, {.rate = 2, .clip = 0.01F});
  EXPECT_EQ(free.norm, cut.norm);
  EXPECT_GT(free.norm, 0.01);
  EXPECT_NEAR(free.weights[1][0], before[1][0] - 2 * free.gradients[1][0], 1e-12);
  EXPECT_NEAR(cut.weights[1][0], before[1][0] - 2 * (0.01 / cut.norm) * cut.gradients[1][0], 1e-9);
}

}  // namespace
}  // namespace lamina::validate::numeric
