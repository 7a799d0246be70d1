// Kernels of frameworks that do not fuse: bytes and launches from what Megatron-LM's source reads and writes.
#include <gtest/gtest.h>

#include "sim/graph/operation_graph.hpp"
#include "sim/model/kernels.hpp"
#include "sim/pipeline/simulate.hpp"
#include "tests/support/random_scenario.hpp"
#include "tests/unit/model/model_fixtures.hpp"

namespace lamina::model {
namespace {

constexpr double kTokens = 2048;
constexpr double kVocabulary = 51200;
constexpr double kHidden = 1024;

scenario::Scenario scenario_of_fp16() {
  scenario::Scenario scenario = scenario_of(gpt(24, 1024, 16), 1, 1, false, scenario::Recompute::kFull);
  scenario.strategy.precision.compute = scenario::DataType::kFp16;
  return scenario;
}

double bytes_of(const LayerCost& layer, Pass pass) {
  double sum = 0;
  for (const BlockCost& block : layer.blocks) {
    sum += block.pass(pass).bytes.value();
  }
  return sum;
}

double optimizer_bytes(const scenario::Strategy& strategy) {
  double sum = 0;
  for (const Kernel& kernel : optimizer_kernels(1, strategy)) {
    sum += kernel.bytes.value();
  }
  return sum;
}

int launches_of(const LayerCost& layer, Pass pass) {
  int sum = 0;
  for (const BlockCost& block : layer.blocks) {
    for (const Kernel& kernel : block.pass(pass).kernels) {
      sum += kernel.launches;
    }
  }
  return sum;
}

// Per logit of 2 bytes, softmax of 4. Forward: cast (2 + 4), maximum 4, difference 8, exponents 8, sum 4, quotient 8.
// Backward: scaled in place 8, cast (4 + 2).
TEST(SeparatePasses, CrossEntropyMovesWhatItsElementaryOperationsReadAndWrite) {
  scenario::Scenario scenario = scenario_of_fp16();
  const WorkModel fused = work_of(scenario);
  scenario.strategy.fused_cross_entropy = false;
  const WorkModel separate = work_of(scenario);
  const double logits = kTokens * kVocabulary;
  EXPECT_DOUBLE_EQ(bytes_of(separate.head, Pass::kForward) - bytes_of(fused.head, Pass::kForward), (38 - 6) * logits);
  EXPECT_DOUBLE_EQ(bytes_of(separate.head, Pass::kInputGradient) - bytes_of(fused.head, Pass::kInputGradient),
                   (14 - 6) * logits);
}

// Gradients of 2 bytes: the products write them once instead of reading and writing the buffer; the kernel after them
// reads both and writes the buffer.
TEST(SeparatePasses, AccumulationReadsBothGradientsAndWritesOne) {
  scenario::Scenario scenario = scenario_of_fp16();
  const WorkModel fused = work_of(scenario);
  scenario.strategy.fused_gradient_accumulation = false;
  const WorkModel separate = work_of(scenario);
  const double layer = 12 * kHidden * kHidden;
  EXPECT_DOUBLE_EQ(bytes_of(separate.layer, Pass::kWeightGradient) - bytes_of(fused.layer, Pass::kWeightGradient),
                   (2 + 6 - 4) * layer);
  EXPECT_DOUBLE_EQ(
      bytes_of(separate.embedding, Pass::kWeightGradient) - bytes_of(fused.embedding, Pass::kWeightGradient),
      6 * kVocabulary * kHidden);
  EXPECT_EQ(bytes_of(separate.layer, Pass::kInputGradient), bytes_of(fused.layer, Pass::kInputGradient));
}

// fp16 weights and gradients, Adam in fp32: 28 bytes in one pass (12 of state read and written, gradient, weight); else
// cast 2 + 4, unscaling 8, norm 4, clipping 8, Adam 24 + 4, copy 4 + 2, zeroing 2.
TEST(SeparatePasses, TheOptimizerOfMegatronTakes62BytesAParameterInFp16And54InBf16) {
  scenario::Strategy strategy = scenario_of_fp16().strategy;
  strategy.precision.weights = strategy.precision.gradients = scenario::DataType::kFp16;
  EXPECT_DOUBLE_EQ(optimizer_bytes(strategy), 28);
  strategy.fused_optimizer = false;
  EXPECT_DOUBLE_EQ(optimizer_bytes(strategy), 62);
  strategy.precision.compute = strategy.precision.weights = strategy.precision.gradients = scenario::DataType::kBf16;
  EXPECT_DOUBLE_EQ(optimizer_bytes(strategy), 54);
  strategy.precision.gradients = scenario::DataType::kFp32;  // nothing to cast; zeroing of 4
  EXPECT_DOUBLE_EQ(optimizer_bytes(strategy), 50);
}

// Counted in megatron/model/transformer.py and for its backward in PyTorch's autograd (docs/model.md, section 2).
TEST(SeparatePasses, ALayerOfMegatronIs17And18And50Launches) {
  scenario::Scenario scenario = scenario_of_fp16();
  scenario.strategy.fused_gradient_accumulation = false;
  const WorkModel work = work_of(scenario);
  EXPECT_EQ(launches_of(work.layer, Pass::kForward), 17);
  EXPECT_EQ(launches_of(work.layer, Pass::kRecompute), 18);
  EXPECT_EQ(launches_of(work.layer, Pass::kInputGradient) + launches_of(work.layer, Pass::kWeightGradient), 50);
}

double copied_in(const LayerCost& layer, Pass pass) {
  double sum = 0;
  for (const BlockCost& block : layer.blocks) {
    for (const Kernel& kernel : block.pass(pass).kernels) {
      sum += kernel.copied.value();
    }
  }
  return sum;
}

// Read and written, 2 bytes an element. Forward: the context of the heads back into the hidden dimension, h. Backward:
// its gradient into heads h, the scales of the queries' and keys' gradients 2 h, the concatenation of three 3 h, the
// gradient of the residual stream added behind both norms 2 h.
TEST(SeparatePasses, CopiesBetweenLayoutsMoveFourAndThirtyTwoBytesATokenAndWidth) {
  const WorkModel work = work_of(scenario_of_fp16());
  EXPECT_DOUBLE_EQ(copied_in(work.layer, Pass::kForward), 4 * kTokens * kHidden);
  EXPECT_DOUBLE_EQ(copied_in(work.layer, Pass::kRecompute), 4 * kTokens * kHidden);
  EXPECT_DOUBLE_EQ(copied_in(work.layer, Pass::kInputGradient), 4 * (1 + 2 + 3 + 2) * kTokens * kHidden);
  EXPECT_EQ(copied_in(work.layer, Pass::kWeightGradient), 0);
}

// FlashAttention takes three tensors, whose gradients are concatenated; cuDNN's kernel writes them side by side.
TEST(SeparatePasses, FusedAttentionCopiesOnlyWhatItsLibraryLeavesApart) {
  scenario::Scenario scenario = scenario_of_fp16();
  scenario.strategy.fused_attention = true;
  EXPECT_DOUBLE_EQ(copied_in(work_of(scenario).layer, Pass::kInputGradient), 4 * (3 + 2) * kTokens * kHidden);
  scenario.strategy.attention_kernel = scenario::AttentionKernel::kCudnn;
  EXPECT_DOUBLE_EQ(copied_in(work_of(scenario).layer, Pass::kInputGradient), 4 * 2 * kTokens * kHidden);
  EXPECT_EQ(copied_in(work_of(scenario).layer, Pass::kForward), 0);
}

// Cast 2 + 4, logarithm of the softmax 4 + 4, for each metric.
TEST(SeparatePasses, MetricsReadTheLogitsOnceMoreEach) {
  scenario::Scenario scenario = scenario_of_fp16();
  const double without = bytes_of(work_of(scenario).head, Pass::kForward);
  scenario.strategy.logit_metrics = 2;
  const WorkModel work = work_of(scenario);
  EXPECT_DOUBLE_EQ(bytes_of(work.head, Pass::kForward) - without, 2 * 14 * kTokens * kVocabulary);
  EXPECT_EQ(bytes_of(work.head, Pass::kInputGradient),
            bytes_of(work_of(scenario_of_fp16()).head, Pass::kInputGradient));
}

TEST(SeparatePasses, SynchronousBatchesHoldTheHostAtEachForwardOfAStage) {
  scenario::Scenario scenario = tests::small_scenario();
  const auto waits = [&] {
    const auto result = pipeline::simulate(scenario, pipeline::builtin_catalogs());
    int count = 0;
    for (const graph::Program& program : result->prepared.graph.programs) {
      for (const graph::Operation& operation : program.operations) {
        if (operation.host_waits) {
          EXPECT_EQ(operation.phase, graph::Phase::kForward);
          ++count;
        }
      }
    }
    return count;
  };
  EXPECT_EQ(waits(), 0);
  scenario.strategy.synchronous_batches = true;
  EXPECT_EQ(waits(), scenario.strategy.micro_batches * scenario.strategy.pipeline_parallel);
}

double bytes_ending_in(const LayerCost& layer, Pass pass, const std::string& ending) {
  double sum = 0;
  for (const BlockCost& block : layer.blocks) {
    for (const Kernel& kernel : block.pass(pass).kernels) {
      if (kernel.name.ends_with(ending)) {
        sum += kernel.bytes.value();
      }
    }
  }
  return sum;
}

// Inputs of the four products are h, h, h and 4h wide; behind the norms (the first and the third) only the transposed
// copy is made, 1 byte read and 1 written, else 2 read and 1 + 1 written. Output gradients are 3h, h, 4h and h wide.
TEST(Fp8Casts, MoveWhatTransformerEngineReadsAndWrites) {
  scenario::Scenario scenario = scenario_of(gpt(24, 1024, 16));
  scenario.cluster.node.accelerator = h100();
  scenario.strategy.precision.compute = scenario::DataType::kFp8;
  const WorkModel work = work_of(scenario);
  const double tokens_by_width = 2048.0 * 1024;
  EXPECT_DOUBLE_EQ(bytes_ending_in(work.layer, Pass::kForward, "_cast"), tokens_by_width * (2 * (1 + 1) + 4 * (1 + 4)));
  EXPECT_DOUBLE_EQ(bytes_ending_in(work.layer, Pass::kInputGradient, "_gradient_cast"),
                   tokens_by_width * 4 * (3 + 1 + 4 + 1));
  EXPECT_EQ(bytes_ending_in(work.layer, Pass::kWeightGradient, "_bias"), 0) << "summed by the casts of the gradients";
  EXPECT_EQ(bytes_ending_in(work.head, Pass::kForward, "_cast"), 0) << "logits stay in 16 bits";
}

TEST(Fp8Casts, AreNotThereIn16Bits) {
  const WorkModel work = work_of(scenario_of(gpt(24, 1024, 16)));
  EXPECT_EQ(bytes_ending_in(work.layer, Pass::kForward, "_cast"), 0);
  EXPECT_EQ(bytes_ending_in(work.layer, Pass::kInputGradient, "_cast"), 0);
}

// One sequence and 2 heads a rank: no multiple of 4. Scores of 2 bytes. Forward: cast 6, scale 8, mask 8, softmax 8,
// cast 6 instead of a read and a write; backward: cast 6, softmax 12, mask 8, scale 8, cast 6 instead of 6.
TEST(SeparatePasses, TheSoftmaxOfMegatronIsFusedWhereFourDividesSequencesTimesHeads) {
  scenario::Scenario scenario = scenario_of_fp16();
  scenario.strategy.recompute = scenario::Recompute::kNone;
  scenario.strategy.tensor_parallel = 8;
  const WorkModel separate = work_of(scenario);
  const double scores = 2 * kTokens * kTokens;
  EXPECT_DOUBLE_EQ(bytes_ending_in(separate.layer, Pass::kForward, "softmax_passes"), (36 - 4) * scores);
  EXPECT_DOUBLE_EQ(bytes_ending_in(separate.layer, Pass::kInputGradient, "softmax_passes"), (40 - 6) * scores);
  scenario.strategy.micro_batch_size = 2;
  const WorkModel fused = work_of(scenario);
  EXPECT_EQ(bytes_ending_in(fused.layer, Pass::kForward, "softmax_passes"), 0);
  EXPECT_EQ(launches_of(separate.layer, Pass::kForward) - launches_of(fused.layer, Pass::kForward), 4);
  EXPECT_EQ(launches_of(separate.layer, Pass::kInputGradient) - launches_of(fused.layer, Pass::kInputGradient), 4);
}

}  // namespace
}  // namespace lamina::model
