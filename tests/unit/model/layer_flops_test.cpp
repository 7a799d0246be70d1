#include <gtest/gtest.h>

#include "tests/unit/model/model_fixtures.hpp"

namespace lamina::model {
namespace {

constexpr double kExact = 1e-13;  // relative: sums of integers beyond 2^53 may round

void expect_relative(double actual, double expected, double tolerance = kExact) {
  EXPECT_NEAR(actual / expected, 1.0, tolerance) << actual << " against " << expected;
}

// GPT-3 sizes, micro-batch 2.
constexpr double kB = 2;
constexpr double kS = 2048;
constexpr double kH = 12288;
constexpr double kMatrices = 24 * kB * kS * kH * kH;
constexpr double kScores = 4 * kB * kS * kS * kH;

// Narayanan et al., arXiv 2104.04473, appendix: a layer's forward is 24 B s h^2 + 4 B s^2 h.
TEST(LayerFlops, ForwardOfAGptLayerIsTheFormulaOfNarayanan) {
  const WorkModel work = work_of(scenario_of(gpt3_175b(), 2));
  expect_relative(flops_of(work.layer, Pass::kForward), kMatrices + kScores);
}

TEST(LayerFlops, GradientsOfAMatrixCostItsForwardAndScoresCostTwiceInTheInputGradient) {
  const WorkModel work = work_of(scenario_of(gpt3_175b(), 2));
  expect_relative(flops_of(work.layer, Pass::kInputGradient), kMatrices + 2 * kScores);
  expect_relative(flops_of(work.layer, Pass::kWeightGradient), kMatrices);
}

TEST(LayerFlops, FullRecomputationAddsExactlyAForward) {
  const WorkModel work = work_of(scenario_of(gpt3_175b(), 2, 8, false, scenario::Recompute::kFull));
  for (const BlockCost& block : work.layer.blocks) {
    EXPECT_EQ(block.recompute.flops, block.forward.flops) << block.name;
    EXPECT_EQ(block.recompute.duration, block.forward.duration) << block.name;
    EXPECT_EQ(block.recompute.bytes, block.forward.bytes) << block.name;
    EXPECT_EQ(block.recompute.kernels.size(), block.forward.kernels.size()) << block.name;
  }
  EXPECT_TRUE(work.head.blocks.at(0).recompute.kernels.empty());
  EXPECT_TRUE(work.embedding.blocks.at(0).recompute.kernels.empty());
}

TEST(LayerFlops, SelectiveRecomputationAddsTheForwardOfTheScores) {
  const WorkModel work = work_of(scenario_of(gpt3_175b(), 2, 1, false, scenario::Recompute::kSelective));
  expect_relative(flops_of(work.layer, Pass::kRecompute), kScores);
  EXPECT_TRUE(work.layer.blocks.at(1).recompute.kernels.empty());
}

TEST(LayerFlops, WithoutRecomputationNothingRunsAgain) {
  const WorkModel work = work_of(scenario_of(gpt3_175b(), 2));
  EXPECT_EQ(flops_of(work.layer, Pass::kRecompute), 0);
  EXPECT_EQ(seconds_of(work.layer, Pass::kRecompute), 0);
}

// Narayanan et al., eq. 3: 96 B s l h^2 (1 + s / 6h + V / 16 l h) per batch with full recomputation of the layers.
TEST(ModelFlops, HardwareFlopsWithFullRecomputationAreTheFormulaOfNarayanan) {
  const WorkModel work = work_of(scenario_of(gpt3_175b(), 4, 1, false, scenario::Recompute::kFull));
  const double expected = 96 * 96 * kH * kH * (1 + kS / (6 * kH) + 51200 / (16 * 96 * kH));
  expect_relative(work.hardware_flops_per_token.value(), expected);
}

// Korthikanti et al., arXiv 2205.05198, appendix: model FLOPs 72 B L s h^2 (1 + s / 6h + v / 12 h L), whatever is
// recomputed.
TEST(ModelFlops, ModelFlopsLeaveRecomputationOut) {
  const double expected = 72 * 96 * kH * kH * (1 + kS / (6 * kH) + 51200 / (12 * kH * 96));
  for (const auto recompute :
       {scenario::Recompute::kNone, scenario::Recompute::kSelective, scenario::Recompute::kFull}) {
    const WorkModel work = work_of(scenario_of(gpt3_175b(), 4, 8, true, recompute));
    expect_relative(work.model_flops_per_token.value(), expected);
  }
}

TEST(ModelFlops, WithoutRecomputationHardwareFlopsAreModelFlops) {
  const WorkModel work = work_of(scenario_of(llama3_8b(), 1));
  expect_relative(work.hardware_flops_per_token.value(), work.model_flops_per_token.value());
}

// arXiv 2106.02679: 8 FLOPs per parameter and token with recomputation; p = 12 x^5 = 1.258e12 for X_160.
TEST(ModelFlops, TheAnalysisOf2021CountsEightFlopsPerParameterAndToken) {
  scenario::Scenario scenario = scenario_of(family_x(160), 1, 16, true, scenario::Recompute::kFull);
  scenario.simulation.attention_scores = false;
  const WorkModel work = work_of(scenario);
  expect_relative(work.hardware_flops_per_token.value(), 8 * 12 * 160.0 * 160 * 160 * 160 * 160);
  EXPECT_TRUE(work.embedding.blocks.empty());
  EXPECT_TRUE(work.head.blocks.empty());
}

// Section 4 of the derivation: scores are s / 6h = 8 / 3x of the dense FLOPs of the X family, 1.7 % at X_160.
TEST(ModelFlops, ScoresOfX160AddEightOverThreeXOfTheDenseFlops) {
  scenario::Scenario scenario = scenario_of(family_x(160));
  const double with_scores = work_of(scenario).model_flops_per_token.value();
  scenario.simulation.attention_scores = false;
  const double without = work_of(scenario).model_flops_per_token.value();
  expect_relative(with_scores / without - 1, 8.0 / (3 * 160), 1e-12);
}

TEST(LayerFlops, CausalHalfCountsHalfTheScores) {
  scenario::Model model = gpt3_175b();
  model.causal_half = true;
  const WorkModel work = work_of(scenario_of(model, 2));
  expect_relative(flops_of(work.layer, Pass::kForward), kMatrices + kScores / 2);
  expect_relative(flops_of(work.layer, Pass::kInputGradient), kMatrices + kScores);
}

// Llama 3 8B by hand, per token: 2 FLOPs for each weight of the matrices (q 4096 x 4096, k and v 4096 x 1024, output
// 4096 x 4096, three of 4096 x 14336), and 4 s a d for the scores.
TEST(LayerFlops, GroupedQueriesAndAGatedMlpCountTheirOwnMatrices) {
  const double matrices = 2.0 * 4096 * (4096 + 2 * 1024 + 4096 + 3 * 14336);
  const double scores = 4.0 * 8192 * 32 * 128;
  const WorkModel work = work_of(scenario_of(llama3_8b()));
  expect_relative(flops_of(work.layer, Pass::kForward) / 8192, matrices + scores);
}

TEST(LayerFlops, TensorRanksShareTheFlopsOfALayer) {
  const WorkModel whole = work_of(scenario_of(gpt3_175b(), 2));
  for (const int ranks : {2, 4, 8, 16, 32}) {
    for (const bool sequence_parallel : {false, true}) {
      const WorkModel part = work_of(scenario_of(gpt3_175b(), 2, ranks, sequence_parallel));
      for (const Pass pass : {Pass::kForward, Pass::kInputGradient, Pass::kWeightGradient}) {
        expect_relative(flops_of(part.layer, pass) * ranks, flops_of(whole.layer, pass));
        expect_relative(flops_of(part.head, pass) * ranks, flops_of(whole.head, pass));
      }
      expect_relative(part.model_flops_per_token.value(), whole.model_flops_per_token.value());
    }
  }
}

TEST(LayerFlops, KeyValueHeadsFewerThanTensorRanksAreReplicated) {
  const WorkModel eight = work_of(scenario_of(llama3_8b(), 1, 8));
  const WorkModel sixteen = work_of(scenario_of(llama3_8b(), 1, 16));
  // One key and one value head of size 128 stays on each of the 16 ranks.
  const double key_value = 2.0 * 8192 * 4096 * 2 * 128;
  expect_relative(flops_of(sixteen.layer, Pass::kForward),
                  (flops_of(eight.layer, Pass::kForward) - key_value) / 2 + key_value);
}

// FlashAttention (arXiv 2205.14135): the backward computes QK^T again, five products instead of four.
TEST(LayerFlops, FusedAttentionRecomputesTheScoresInItsBackward) {
  scenario::Scenario scenario = scenario_of(gpt3_175b(), 2);
  scenario.strategy.fused_attention = true;
  const WorkModel work = work_of(scenario);
  expect_relative(flops_of(work.layer, Pass::kForward), kMatrices + kScores);
  expect_relative(flops_of(work.layer, Pass::kInputGradient), kMatrices + 2.5 * kScores);
  expect_relative(work.model_flops_per_token.value(),
                  work_of(scenario_of(gpt3_175b(), 2)).model_flops_per_token.value());
}

}  // namespace
}  // namespace lamina::model
