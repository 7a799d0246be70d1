#include <gtest/gtest.h>

#include "sim/pipeline/simulate.hpp"
#include "tests/support/random_scenario.hpp"

namespace lamina::lowering {
namespace {

using graph::MemoryCategory;
using graph::Phase;

/// Bytes of a category that operations of one phase take (positive) or give back, over the whole step of a rank.
double effect(const graph::Program& program, Phase phase, MemoryCategory category, bool taken) {
  double sum = 0;
  for (const graph::MemoryEffect& one : program.memory_effects) {
    if (program.operations[one.operation].phase == phase && one.category == category && (one.bytes > 0) == taken) {
      sum += one.bytes;
    }
  }
  return sum;
}

/// One rank of 4 layers and 2 micro-batches, weight gradients apart.
pipeline::Prepared split(scenario::Recompute recompute) {
  scenario::Scenario scenario = tests::small_scenario();
  scenario.model.layers = 4;
  scenario.strategy.micro_batches = 2;
  scenario.strategy.recompute = recompute;
  scenario.strategy.schedule = {"zero_bubble_h1", {}};
  return pipeline::prepare(scenario, pipeline::builtin_catalogs()).value();
}

// Qi et al., arXiv 2401.10241, section 2: of s b h (34 + 5 a s / h) only 32 s b h wait for the weight gradient.
TEST(SplitBackwardMemory, KeepsTheOperandsOfTheWeightGradientOnly) {
  const pipeline::Prepared prepared = split(scenario::Recompute::kNone);
  const graph::Program& program = prepared.graph.programs.front();
  const double sbh = 512.0 * 1024;
  const double layers = 4 * 2;
  const double all = layers * sbh * (34 + 5.0 * 16 * 512 / 1024);
  const double stays = layers * sbh * 32;
  EXPECT_NEAR(effect(program, Phase::kForward, MemoryCategory::kCheckpoints, true), all, 1e-9 * all);
  EXPECT_NEAR(effect(program, Phase::kInputGradient, MemoryCategory::kCheckpoints, false), stays - all, 1e-9 * all);
  EXPECT_NEAR(effect(program, Phase::kWeightGradient, MemoryCategory::kCheckpoints, false), -stays, 1e-9 * all);
}

// With full recomputation the forward leaves 2 s b h; the recomputed activations go except for the operands.
TEST(SplitBackwardMemory, KeepsOperandsBesideTheCheckpointUnderFullRecomputation) {
  const pipeline::Prepared prepared = split(scenario::Recompute::kFull);
  const graph::Program& program = prepared.graph.programs.front();
  const double sbh = 512.0 * 1024;
  const double layers = 4 * 2;
  EXPECT_NEAR(effect(program, Phase::kForward, MemoryCategory::kCheckpoints, true), layers * 2 * sbh, 1);
  EXPECT_NEAR(effect(program, Phase::kWeightGradient, MemoryCategory::kCheckpoints, false), -layers * 2 * sbh, 1);
  EXPECT_NEAR(effect(program, Phase::kWeightGradient, MemoryCategory::kWorkingSet, false), -layers * 30 * sbh, 1);
}

}  // namespace
}  // namespace lamina::lowering
