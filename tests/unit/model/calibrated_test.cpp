// Fused attention against what its authors measured, and the casts of fp8 against what Transformer Engine reads and
// writes.
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "sim/model/attention_time.hpp"
#include "tests/unit/model/model_fixtures.hpp"

namespace lamina::model {
namespace {

constexpr auto kFlash = scenario::AttentionKernel::kFlashAttention2;
constexpr auto kCudnn = scenario::AttentionKernel::kCudnn;
constexpr auto kTriton = scenario::AttentionKernel::kFlashAttentionTriton;
constexpr double kPeak = 989e12;

/// The defaults: the H100's.
catalog::Parameters defaults() {
  catalog::Parameters parameters;
  for (const AttentionEfficiency& efficiency : kAttentionEfficiencies) {
    parameters.set_number(std::string(efficiency.name), std::stod(std::string(efficiency.default_value)));
  }
  return parameters;
}

Kernel attention(const FusedAttention& kind, std::int64_t head, std::int64_t sequence) {
  Kernel kernel;
  kernel.m = sequence;
  kernel.n = head;
  kernel.flops = Flops(1e15);
  kernel.attention = kind;
  return kernel;
}

double rate(const FusedAttention& kind, std::int64_t head, std::int64_t sequence) {
  return 1e3 / attention_time(attention(kind, head, sequence), FlopsPerSecond(kPeak), defaults());  // TFLOP/s
}

struct Bars {
  FusedAttention kind;
  std::int64_t head = 0;
  std::vector<double> rates;  ///< TFLOP/s of 512, 1024, ... 16384 tokens
};

// arXiv 2407.08608, figures 5 (a) to (d) and 6 (a) and (b): H100 SXM5, bf16.
const std::vector<Bars>& bars() {
  static const std::vector<Bars> all = {
      {{kFlash, false, false}, 128, {309, 350, 362, 368, 370, 370}},
      {{kCudnn, false, false}, 128, {497, 574, 617, 609, 600, 595}},
      {{kFlash, false, true}, 128, {191, 260, 298, 319, 333, 335}},
      {{kCudnn, false, true}, 128, {315, 410, 484, 518, 529, 539}},
      {{kFlash, false, false}, 64, {282, 306, 318, 321, 322, 324}},
      {{kCudnn, false, false}, 64, {335, 373, 395, 408, 412, 413}},
      {{kFlash, false, true}, 64, {180, 229, 262, 284, 295, 299}},
      {{kCudnn, false, true}, 64, {225, 288, 334, 363, 379, 388}},
      {{kFlash, true, false}, 128, {214, 260, 291, 310, 318, 322}},
      {{kCudnn, true, false}, 128, {305, 408, 465, 499, 518, 516}},
      {{kFlash, true, false}, 64, {198, 238, 264, 279, 287, 291}},
      {{kCudnn, true, false}, 64, {266, 348, 395, 417, 432, 433}},
  };
  return all;
}

TEST(FusedAttention, IsWithinTwoPercentMeanOfThePublishedRatesOnH100) {
  double sum = 0;
  int count = 0;
  for (const Bars& of : bars()) {
    std::int64_t sequence = 512;
    for (const double measured : of.rates) {
      const double error = std::abs(rate(of.kind, of.head, sequence) / measured - 1);
      EXPECT_LT(error, 0.13) << of.head << " " << sequence;
      sum += error;
      ++count;
      sequence *= 2;
    }
  }
  EXPECT_LT(sum / count, 0.02);
}

// arXiv 2307.08691, section 4.1: FlashAttention-2 is 1.3 to 1.5 times as fast forward and about 2 times backward.
TEST(FusedAttention, TheFirstOneInTritonIsSlowerByWhatItsSuccessorGained) {
  const double forward = rate({kFlash, false, true}, 128, 4096) / rate({kTriton, false, true}, 128, 4096);
  EXPECT_GT(forward, 1.3);
  EXPECT_LT(forward, 1.5);
  EXPECT_NEAR(rate({kFlash, true, true}, 128, 4096) / rate({kTriton, true, true}, 128, 4096), 2, 1e-12);
}

catalog::Parameters calibrated_h100() {
  catalog::Parameters parameters = defaults();
  parameters.set_number("launch_floor", 5e-6);
  parameters.set_number("matrix_efficiency", 0.78);  // scenarios/hardware/measured.yaml
  parameters.set_number("narrow_matrix_efficiency", 0.695);
  parameters.set_number("tile_depth", 128);
  parameters.set_number("memory_efficiency", 0.8);
  return parameters;
}

double calibrated_time(const Kernel& kernel, scenario::DataType type) {
  const catalog::Catalog<CostModel> models = cost_models();
  return models.find("calibrated")->implementation->time(kernel, h100(), type, calibrated_h100()).value();
}

double mean_rate(scenario::DataType type) {
  double sum = 0;
  const std::vector<std::vector<std::int64_t>> shapes = {
      {16384, 8192, 1280}, {16384, 1024, 8192}, {16384, 8192, 7168}, {16384, 3584, 8192}, {8192, 8192, 8192}};
  for (const std::vector<std::int64_t>& shape : shapes) {
    const Kernel kernel = matrix_product(1, shape[0], shape[1], shape[2], scenario::bytes_of(type));
    sum += kernel.flops.value() / calibrated_time(kernel, type) / 1e12;
  }
  return sum / static_cast<double>(shapes.size());
}

// SemiAnalysis, MI300X vs H100 vs H200 Benchmark Part 1, December 2024: 720 TFLOP/s in bf16, 1280 in fp8.
TEST(SustainedProducts, AreWithinTwoPercentOfWhatAnH100KeepsUp) {
  EXPECT_NEAR(mean_rate(scenario::DataType::kBf16), 720, 0.02 * 720);
  EXPECT_NEAR(mean_rate(scenario::DataType::kFp8), 1280, 0.02 * 1280);
}

// stas00/ml-engineering, compute/accelerator (commit 0359db89), maximum sustainable products of an H200, an H100 with
// faster memory: 755 TFLOP/s in bf16, 1354 in fp8, with all GPUs of the node at work. Another source than the one that
// tuned.
TEST(SustainedProducts, AreWithinTwoPercentOfWhatAnH200KeepsUpByAnotherTable) {
  const auto rate_of = [](std::int64_t m, std::int64_t n, std::int64_t k, scenario::DataType type) {
    const Kernel kernel = matrix_product(1, m, n, k, scenario::bytes_of(type));
    return kernel.flops.value() / calibrated_time(kernel, type) / 1e12;
  };
  EXPECT_NEAR(rate_of(1536, 2816, 40960, scenario::DataType::kBf16), 755, 0.02 * 755);
  EXPECT_NEAR(rate_of(1280, 16896, 16384, scenario::DataType::kFp8), 1354, 0.02 * 1354);
}

// arXiv 2401.14489, figures "attention key query score": heads of an odd size, twice and four times an odd size,
// against those that 8 divides. Sizes of one tile, so that only the alignment differs.
TEST(UnalignedHeads, TakeLongerByWhatThePaperPlots) {
  const auto time = [](std::int64_t depth) {
    return (calibrated_time(matrix_product(64, 2048, 2048, depth, 2), scenario::DataType::kBf16) - 5e-6) /
           static_cast<double>(depth + 128);
  };
  const double aligned = time(1024);
  EXPECT_NEAR(aligned / time(1023), 0.41, 0.001);
  EXPECT_NEAR(aligned / time(1022), 0.63, 0.001);
  EXPECT_NEAR(aligned / time(1020), 0.69, 0.001);
  EXPECT_NEAR(aligned / time(1016), 1, 0.001);
}

/// Seconds of the logits and their two gradients on one tensor rank, 8192 tokens of width 4096, launches left out.
double time_of_logits(std::int64_t vocabulary, int tensor_parallel) {
  const scenario::Scenario scenario = scenario_of(gpt(1, 4096, 32, vocabulary), 4, tensor_parallel);
  double sum = 0;
  for (const BlockCost& block : work_of(scenario).head.blocks) {
    for (const Pass pass : {Pass::kForward, Pass::kInputGradient, Pass::kWeightGradient}) {
      for (const Kernel& kernel : block.pass(pass).kernels) {
        sum += kernel.name == "logits" ? calibrated_time(kernel, scenario::DataType::kBf16) - 5e-6 : 0;
      }
    }
  }
  return sum;
}

// GPT-2's vocabulary is odd; 50304 is Megatron-LM's padding of it. Both take as many tiles.
TEST(UnalignedVocabulary, SlowsTheThreeProductsOfTheLogits) {
  EXPECT_NEAR(time_of_logits(50304, 1) / time_of_logits(50257, 1), 0.41, 0.002);
  EXPECT_NEAR(time_of_logits(50304, 4) / time_of_logits(50256, 4), 0.69, 0.002);  // 12564 a rank, 4 times odd
}

TEST(UnalignedVocabulary, IsNoMatterWhereEightDividesTheShareOfARank) {
  EXPECT_NEAR(time_of_logits(50304, 2) / time_of_logits(50256, 2), 1, 0.002);
}

TEST(FusedAttention, HeadsBeyond128AreNoFaster) {
  EXPECT_EQ(rate({kFlash, false, false}, 256, 4096), rate({kFlash, false, false}, 128, 4096));
}

}  // namespace
}  // namespace lamina::model
