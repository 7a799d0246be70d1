#include <gtest/gtest.h>

#include "sim/model/activations.hpp"
#include "tests/unit/model/model_fixtures.hpp"

// Korthikanti et al., "Reducing activation recomputation in large transformer models", arXiv 2205.05198, section 4.
namespace lamina::model {
namespace {

constexpr double kExact = 1e-13;

struct PublishedModel {
  const char* name;
  int layers;
  std::int64_t hidden;
  std::int64_t heads;
  std::int64_t micro_batch;
};

// Table 3, all with s = 2048 and t = 8.
constexpr PublishedModel kPublished[] = {
    {"22B", 48, 6144, 64, 4}, {"175B", 96, 12288, 96, 1}, {"530B", 105, 20480, 128, 1}, {"1T", 128, 25600, 160, 1}};

double sbh(const PublishedModel& model) {
  return 2048.0 * static_cast<double>(model.micro_batch) * static_cast<double>(model.hidden);
}

/// 5 a s / h
double score_term(const PublishedModel& model) {
  return 5.0 * static_cast<double>(model.heads) * 2048 / static_cast<double>(model.hidden);
}

LayerCost layer_of(const PublishedModel& model, int tensor_parallel, bool sequence_parallel,
                   scenario::Recompute recompute = scenario::Recompute::kNone) {
  return work_of(scenario_of(gpt(model.layers, model.hidden, model.heads), model.micro_batch, tensor_parallel,
                             sequence_parallel, recompute))
      .layer;
}

TEST(ActivationBytes, OfAnUnsplitLayerAreSbhTimes34Plus5AsOverH) {
  for (const PublishedModel& model : kPublished) {
    const double expected = sbh(model) * (34 + score_term(model));
    EXPECT_NEAR(layer_of(model, 1, false).checkpoint.value() / expected, 1, kExact) << model.name;
  }
}

TEST(ActivationBytes, UnderTensorParallelismAreSbhTimes10Plus24OverTPlus5AsOverHt) {
  for (const PublishedModel& model : kPublished) {
    const double expected = sbh(model) * (10 + 24.0 / 8 + score_term(model) / 8);
    EXPECT_NEAR(layer_of(model, 8, false).checkpoint.value() / expected, 1, kExact) << model.name;
  }
}

TEST(ActivationBytes, UnderSequenceParallelismAreTheUnsplitOnesOverT) {
  for (const PublishedModel& model : kPublished) {
    const double expected = sbh(model) / 8 * (34 + score_term(model));
    EXPECT_NEAR(layer_of(model, 8, true).checkpoint.value() / expected, 1, kExact) << model.name;
  }
}

// Qi et al., arXiv 2401.10241, section 2: 32 s b h wait for the weight gradients; under tensor parallelism the inputs
// of the split matrices and the output gradients of the others (8 of 32) are whole on every rank.
TEST(ActivationBytes, ThirtyTwoSbhStayFromInputGradientToWeightGradient) {
  for (const PublishedModel& model : kPublished) {
    EXPECT_NEAR(layer_of(model, 1, false).weight_gradient_operands.value() / (32 * sbh(model)), 1, kExact);
    EXPECT_NEAR(layer_of(model, 8, true).weight_gradient_operands.value() / (32 * sbh(model) / 8), 1, kExact);
    EXPECT_NEAR(layer_of(model, 8, false).weight_gradient_operands.value() / ((8 + 24.0 / 8) * sbh(model)), 1, kExact);
  }
}

TEST(ActivationBytes, SelectiveRecomputationLeavesThirtyFour) {
  for (const PublishedModel& model : kPublished) {
    const LayerCost layer = layer_of(model, 8, true, scenario::Recompute::kSelective);
    EXPECT_NEAR(layer.checkpoint.value() / (34 * sbh(model) / 8), 1, kExact) << model.name;
    EXPECT_NEAR(layer.working_set.value() / (sbh(model) / 8 * (34 + score_term(model))), 1, kExact) << model.name;
  }
}

TEST(ActivationBytes, FullRecomputationKeepsTheLayerInputSlicedOnlyUnderSequenceParallelism) {
  for (const PublishedModel& model : kPublished) {
    EXPECT_DOUBLE_EQ(layer_of(model, 8, false, scenario::Recompute::kFull).checkpoint.value(), 2 * sbh(model));
    const LayerCost sliced = layer_of(model, 8, true, scenario::Recompute::kFull);
    EXPECT_DOUBLE_EQ(sliced.checkpoint.value(), 2 * sbh(model) / 8);
    EXPECT_NEAR(sliced.working_set.value() / (sbh(model) / 8 * (34 + score_term(model))), 1, kExact);
  }
}

// Section 5: 5 a s / h is 80 for GPT-3 and 64 for MT-NLG 530B, so that selective recomputation saves 70 % and 65 %.
TEST(ActivationBytes, SelectiveRecomputationSavesSeventyPercentOfGpt3AndSixtyFiveOfMtNlg) {
  const auto saved = [](const PublishedModel& model) {
    return 1 - layer_of(model, 8, true, scenario::Recompute::kSelective).checkpoint.value() /
                   layer_of(model, 8, true).checkpoint.value();
  };
  EXPECT_NEAR(saved(kPublished[1]), 0.70, 0.005);
  EXPECT_NEAR(saved(kPublished[2]), 0.65, 0.005);
}

// Figure 7, 22B, as a share of tensor parallelism alone: 66.84 % with sequence parallelism, 49.42 % with selective
// recomputation, 16.18 % with both, 7.64 % with full recomputation. The figure also holds the ends of the model, which
// move it by less than 0.1 points.
TEST(ActivationBytes, SharesOfThe22BModelAreThoseOfFigure7) {
  const PublishedModel& model = kPublished[0];
  const double tensor_only = layer_of(model, 8, false).checkpoint.value();
  const auto percent = [&](bool sequence_parallel, scenario::Recompute recompute) {
    return 100 * layer_of(model, 8, sequence_parallel, recompute).checkpoint.value() / tensor_only;
  };
  EXPECT_NEAR(percent(true, scenario::Recompute::kNone), 66.84, 0.1);
  EXPECT_NEAR(percent(false, scenario::Recompute::kSelective), 49.42, 0.1);
  EXPECT_NEAR(percent(true, scenario::Recompute::kSelective), 16.18, 0.1);
  EXPECT_NEAR(percent(false, scenario::Recompute::kFull), 7.64, 0.1);
}

// Section 4.3: embedding dropout s b h, final norm 2 s b h, projection input 2 s b h, fp32 logits 4 s b v; all / t.
TEST(ActivationBytes, OfTheTwoEndsAreThoseOfSection43) {
  const PublishedModel& model = kPublished[0];
  const WorkModel work = work_of(scenario_of(gpt(48, 6144, 64), 4, 8, true));
  EXPECT_DOUBLE_EQ(work.embedding.checkpoint.value(), sbh(model) / 8);
  EXPECT_NEAR(work.head.checkpoint.value() / (4 * sbh(model) * (1 + 51200.0 / 6144) / 8), 1, kExact);
}

// Beside the fp32 softmax, the logits in 16 bits: 2 s b v / t (Megatron-LM, core/tensor_parallel/cross_entropy.py).
TEST(ActivationBytes, OfALossThatIsNotFusedHaveTheLogitsTwice) {
  scenario::Scenario scenario = scenario_of(gpt(48, 6144, 64), 4, 8, true);
  const double fused = work_of(scenario).head.checkpoint.value();
  scenario.strategy.fused_cross_entropy = false;
  EXPECT_NEAR((work_of(scenario).head.checkpoint.value() - fused) / (2.0 * 2048 * 4 * 51200 / 8), 1, kExact);
}

// Llama 3 8B by hand, elements per token of a layer without dropout: two norm inputs and two matrix inputs of 4096,
// query and attention output 4096 each, key and value 1024 each, gate, up and product 14336 each, and 32 x 8192
// probabilities.
TEST(ActivationBytes, OfAGatedGroupedQueryLayerAreSummedByOperation) {
  const double per_token = 4.0 * 4096 + 2 * 4096 + 2 * 1024 + 3 * 14336;
  const double probabilities = 32.0 * 8192;
  const LayerCost layer = work_of(scenario_of(llama3_8b())).layer;
  EXPECT_DOUBLE_EQ(layer.checkpoint.value(), 2 * 8192 * (per_token + probabilities));
  scenario::Scenario selective = scenario_of(llama3_8b());
  selective.strategy.recompute = scenario::Recompute::kSelective;
  EXPECT_DOUBLE_EQ(work_of(selective).layer.checkpoint.value(), 2 * 8192 * per_token);
}

TEST(ActivationBytes, FusedAttentionKeepsAFloatPerRowInsteadOfTheScores) {
  scenario::Scenario scenario = scenario_of(llama3_8b());
  scenario.strategy.fused_attention = true;
  const double per_token = 4.0 * 4096 + 2 * 4096 + 2 * 1024 + 3 * 14336;
  EXPECT_DOUBLE_EQ(work_of(scenario).layer.checkpoint.value(), 8192 * (2 * per_token + 4 * 32));
}

TEST(ActivationBytes, DoNotDependOnWhetherTheScoresAreCounted) {
  scenario::Scenario scenario = scenario_of(family_x(160), 1, 16, true, scenario::Recompute::kFull);
  const Bytes counted = work_of(scenario).layer.working_set;
  scenario.simulation.attention_scores = false;
  EXPECT_EQ(work_of(scenario).layer.working_set, counted);
  // b d_s d_m (34 + 5 d_a d_s / d_m) / n_a with 80 heads: 34 + 40.
  EXPECT_NEAR(counted.value() / (2560.0 * 25600 * (34 + 40) / 16), 1, kExact);
}

TEST(ActivationBytes, Fp8KeepsActivationsInSixteenBits) {
  scenario::Scenario scenario = scenario_of(gpt3_175b());
  scenario.cluster.node.accelerator = h100();
  const Bytes sixteen = work_of(scenario).layer.checkpoint;
  scenario.strategy.precision.compute = scenario::DataType::kFp8;
  EXPECT_EQ(work_of(scenario).layer.checkpoint, sixteen);
}

}  // namespace
}  // namespace lamina::model
