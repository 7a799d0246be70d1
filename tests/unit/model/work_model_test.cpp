#include <gtest/gtest.h>

#include "sim/error/error.hpp"
#include "tests/unit/model/model_fixtures.hpp"

namespace lamina::model {
namespace {

std::vector<std::string> names_of(const PassCost& cost) {
  std::vector<std::string> names;
  for (const Kernel& kernel : cost.kernels) {
    names.push_back(kernel.name);
  }
  return names;
}

TEST(WorkModel, ALayerIsAnAttentionBlockAndAnMlpBlock) {
  const WorkModel work = work_of(scenario_of(gpt3_175b(), 1, 8));
  ASSERT_EQ(work.layer.blocks.size(), 2U);
  EXPECT_EQ(work.layers, 96);
  EXPECT_EQ(names_of(work.layer.blocks[0].forward),
            (std::vector<std::string>{"attention_norm", "qkv", "attention_scores", "softmax", "attention_dropout",
                                      "attention_values", "attention_projection", "attention_residual"}));
  EXPECT_EQ(names_of(work.layer.blocks[1].forward),
            (std::vector<std::string>{"mlp_norm", "mlp_up", "gelu", "mlp_down", "mlp_residual"}));
  EXPECT_EQ(work.embedding.blocks.at(0).name, "embedding");
  EXPECT_EQ(work.head.blocks.at(0).name, "head");
}

TEST(WorkModel, AGatedModelRotatesAndHasNoDropout) {
  const WorkModel work = work_of(scenario_of(llama3_8b()));
  EXPECT_EQ(names_of(work.layer.blocks[0].forward),
            (std::vector<std::string>{"attention_norm", "qkv", "rotary", "attention_scores", "softmax",
                                      "attention_values", "attention_projection", "attention_residual"}));
  EXPECT_EQ(work.embedding.checkpoint, Bytes(0));
}

TEST(WorkModel, MatrixProductsHaveTheShapesOfTheRank) {
  const WorkModel work = work_of(scenario_of(llama3_8b(), 2, 4));
  const Kernel& qkv = work.layer.blocks[0].forward.kernels.at(1);
  EXPECT_EQ(qkv.m, 2 * 8192);
  EXPECT_EQ(qkv.n, (8 + 2 * 2) * 128);
  EXPECT_EQ(qkv.k, 4096);
  EXPECT_EQ(qkv.bytes, Bytes(2.0 * (16384.0 * 4096 + 4096.0 * 1536 + 16384.0 * 1536)));
  const Kernel& scores = work.layer.blocks[0].forward.kernels.at(3);
  EXPECT_EQ(scores.batch, 2 * 8);
  EXPECT_EQ(scores.m, 8192);
  EXPECT_EQ(scores.n, 8192);
  EXPECT_EQ(scores.k, 128);
}

TEST(WorkModel, PassesAreTheSumsOfTheirKernels) {
  scenario::Scenario scenario = scenario_of(llama3_8b(), 1, 2, true, scenario::Recompute::kFull);
  scenario.simulation.cost_model = roofline();
  const WorkModel work = work_of(scenario);
  const catalog::Catalog<CostModel> models = cost_models();
  for (const LayerCost* layer : {&work.embedding, &work.layer, &work.head}) {
    for (const BlockCost& block : layer->blocks) {
      for (const Pass pass : {Pass::kForward, Pass::kRecompute, Pass::kInputGradient, Pass::kWeightGradient}) {
        Seconds duration;
        Flops flops;
        Bytes bytes;
        for (const Kernel& kernel : block.pass(pass).kernels) {
          EXPECT_GT(kernel.bytes.value(), 0) << kernel.name;
          flops += kernel.flops;
          bytes += kernel.bytes;
          duration += models.find("roofline")
                          ->implementation->time(kernel, a100(), scenario::DataType::kBf16,
                                                 scenario.simulation.cost_model.parameters);
        }
        EXPECT_EQ(block.pass(pass).duration, duration) << block.name;
        EXPECT_EQ(block.pass(pass).flops, flops) << block.name;
        EXPECT_EQ(block.pass(pass).bytes, bytes) << block.name;
      }
    }
  }
}

// arXiv 2106.02679: a layer of X_160 on one of 16 tensor ranks at peak is 24 d_m^2 b d_s / (16 x 312e12) seconds
// forward, and three times that backward with recomputation.
TEST(WorkModel, IdealTimesAreThePapersAnalysis) {
  scenario::Scenario scenario = scenario_of(family_x(160), 1, 16, true, scenario::Recompute::kFull);
  scenario.simulation.attention_scores = false;
  const WorkModel work = work_of(scenario);
  const double forward = 24.0 * 25600 * 25600 * 2560 / 16 / 312e12;
  for (const Pass pass : {Pass::kForward, Pass::kRecompute, Pass::kInputGradient, Pass::kWeightGradient}) {
    EXPECT_NEAR(seconds_of(work.layer, pass) / forward, 1, 1e-12);
  }
  EXPECT_EQ(work.layer.update, Seconds(0));
  EXPECT_EQ(work.cost_model, "ideal (fraction_of_peak = 1)");
}

TEST(WorkModel, WithoutScoresNoKernelTouchesThem) {
  scenario::Scenario scenario = scenario_of(gpt3_175b());
  scenario.simulation.attention_scores = false;
  EXPECT_EQ(names_of(work_of(scenario).layer.blocks[0].forward),
            (std::vector<std::string>{"attention_norm", "qkv", "attention_projection", "attention_residual"}));
}

TEST(WorkModel, MessagesAndTensorPayloadsAreTheWholeActivation) {
  const double activation = 4 * 2048.0 * 12288 * 2;
  const WorkModel work = work_of(scenario_of(gpt3_175b(), 4, 8, true));
  EXPECT_EQ(work.message, Bytes(activation));
  for (const BlockCost& block : work.layer.blocks) {
    EXPECT_EQ(block.tensor_payload, Bytes(activation));
  }
  EXPECT_EQ(work.embedding.blocks[0].tensor_payload, Bytes(activation));
  EXPECT_EQ(work.head.blocks[0].tensor_payload, Bytes(activation));
  EXPECT_EQ(work_of(scenario_of(gpt3_175b(), 4)).layer.blocks[0].tensor_payload, Bytes(0));
}

TEST(WorkModel, StorageFollowsThePrecisionRecipe) {
  scenario::Scenario scenario = scenario_of(gpt3_175b());
  scenario.strategy.precision.gradients = scenario::DataType::kFp32;
  scenario.strategy.precision.state_bytes_per_parameter = 12;
  const LayerCost layer = work_of(scenario).layer;
  EXPECT_EQ(layer.weight_bytes.value(), 2 * layer.parameters);
  EXPECT_EQ(layer.gradient_bytes.value(), 4 * layer.parameters);
  EXPECT_EQ(layer.state_bytes.value(), 12 * layer.parameters);
}

// Adam reads and writes 12 bytes of state, reads a 2-byte gradient and writes a 2-byte weight: 28 bytes per parameter.
TEST(WorkModel, TheOptimizerStreamsTwentyEightBytesPerParameter) {
  scenario::Scenario scenario = scenario_of(gpt3_175b());
  scenario.simulation.cost_model = roofline();
  const LayerCost layer = work_of(scenario).layer;
  EXPECT_NEAR(layer.update.value(), 5e-6 + 28 * layer.parameters / (0.8 * 2039e9), 1e-12);
}

TEST(WorkModel, SequenceParallelismSharesTheMemoryBoundWork) {
  scenario::Scenario scenario = scenario_of(gpt(48, 6144, 64), 4, 8, false);
  scenario.simulation.cost_model = roofline();
  const auto norm_bytes = [&] { return work_of(scenario).layer.blocks[0].forward.kernels.at(0).bytes.value(); };
  const double replicated = norm_bytes();
  scenario.strategy.sequence_parallel = true;
  EXPECT_EQ(norm_bytes() * 8, replicated);
}

TEST(WorkModel, Fp8LeavesAttentionAndLogitsInSixteenBits) {
  scenario::Scenario scenario = scenario_of(llama3_8b());
  scenario.cluster.node.accelerator = h100();
  scenario.strategy.precision.compute = scenario::DataType::kFp8;
  const WorkModel work = work_of(scenario);
  const double tokens = 8192;
  const double matrices = 2 * tokens * 4096 * (2 * 4096 + 2 * 1024 + 3 * 14336);
  const double scores = 4 * tokens * 8192 * 4096;
  EXPECT_NEAR(seconds_of(work.layer, Pass::kForward) / (matrices / 1979e12 + scores / 989e12), 1, 1e-12);
  EXPECT_NEAR(seconds_of(work.head, Pass::kForward) / (2 * tokens * 4096 * 128256 / 989e12), 1, 1e-12);
  EXPECT_EQ(work.message, Bytes(2 * tokens * 4096));
}

struct Indivisible {
  const char* what;
  scenario::Model model;
  int tensor_parallel;
  bool sequence_parallel;
};

TEST(WorkModel, RefusesSizesThatDoNotDivideOverTheTensorRanks) {
  scenario::Model odd_sequence = gpt3_175b();
  odd_sequence.sequence_length = 2047;
  scenario::Model odd_width = llama3_8b();
  odd_width.feed_forward = 14337;
  scenario::Model odd_groups = llama3_8b();
  odd_groups.heads = 48;
  odd_groups.key_value_heads = 12;
  const Indivisible cases[] = {{"attention heads", gpt(2, 960, 10), 4, false},
                               {"sequence", odd_sequence, 2, true},
                               {"MLP width", odd_width, 2, false},
                               {"key/value heads", odd_groups, 16, false}};
  for (const Indivisible& wrong : cases) {
    try {
      static_cast<void>(work_of(scenario_of(wrong.model, 1, wrong.tensor_parallel, wrong.sequence_parallel)));
      ADD_FAILURE() << wrong.what;
    } catch (const error::ScenarioError& fault) {
      EXPECT_NE(std::string(fault.fault().problem).find(wrong.what), std::string::npos) << fault.fault().problem;
      EXPECT_EQ(fault.fault().key, "strategy.tensor_parallel");
    }
  }
}

TEST(WorkModel, SuggestsTheNearestCostModel) {
  scenario::Scenario scenario = scenario_of(gpt3_175b());
  scenario.simulation.cost_model.name = "rofline";
  try {
    static_cast<void>(work_of(scenario));
    FAIL();
  } catch (const error::ScenarioError& fault) {
    EXPECT_EQ(fault.fault().nearest, "roofline");
    EXPECT_EQ(fault.fault().allowed, "calibrated, ideal, roofline");
  }
}

}  // namespace
}  // namespace lamina::model
