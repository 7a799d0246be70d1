#include "sim/lowering/partition.hpp"

#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/lowering/lower.hpp"
#include "sim/pipeline/simulate.hpp"
#include "sim/pipeline/size.hpp"
#include "tests/support/random_scenario.hpp"

namespace lamina::lowering {
namespace {

using testing::HasSubstr;

scenario::Strategy counting(bool embedding, bool head) {
  scenario::Strategy strategy;
  strategy.embedding_counts_as_layer = embedding;
  strategy.head_counts_as_layer = head;
  return strategy;
}

std::vector<int> sizes(const scenario::Strategy& strategy, int layers, int chunks) {
  std::vector<int> result;
  for (int chunk = 0; chunk < chunks; ++chunk) {
    result.push_back(layers_of_chunk(strategy, layers, chunks, chunk).size());
  }
  return result;
}

// Qi et al., arXiv 2401.10241, section 5.1: k p - 2 layers, one fewer on the first and on the last stage.
TEST(Partition, GivesFirstAndLastStageOneLayerFewerWhenTheEndsCount) {
  EXPECT_EQ(sizes(counting(true, true), 22, 8), (std::vector<int>{2, 3, 3, 3, 3, 3, 3, 2}));
  EXPECT_EQ(sizes(counting(true, true), 30, 8), (std::vector<int>{3, 4, 4, 4, 4, 4, 4, 3}));
}

TEST(Partition, LeavesTheEndsAloneInChunksOfOneLayer) {
  std::vector<int> expected(24, 1);
  expected.front() = 0;
  expected.back() = 0;
  EXPECT_EQ(sizes(counting(true, true), 22, 24), expected);
}

TEST(Partition, CountsOneEndOnly) {
  EXPECT_EQ(sizes(counting(true, false), 7, 4), (std::vector<int>{1, 2, 2, 2}));
  EXPECT_EQ(sizes(counting(false, true), 7, 4), (std::vector<int>{2, 2, 2, 1}));
  EXPECT_EQ(sizes(counting(false, false), 8, 4), (std::vector<int>{2, 2, 2, 2}));
}

TEST(Partition, DealsEveryLayerOnceAndInOrder) {
  for (int layers = 1; layers <= 20; ++layers) {
    for (int chunks = 1; chunks <= layers + 2; ++chunks) {
      for (const auto& strategy : {counting(false, false), counting(true, false), counting(true, true)}) {
        int next = 0;
        for (int chunk = 0; chunk < chunks; ++chunk) {
          const LayerRange range = layers_of_chunk(strategy, layers, chunks, chunk);
          EXPECT_EQ(range.first, next);
          EXPECT_GE(range.size(), 0);
          next = range.end;
        }
        EXPECT_EQ(next, layers);
      }
    }
  }
}

scenario::Scenario with_ends(const std::string& schedule) {
  scenario::Scenario scenario = tests::small_scenario();
  scenario.model.layers = 22;
  scenario.model.vocabulary = 4096;
  scenario.strategy.pipeline_parallel = 8;
  scenario.cluster.nodes = 2;  // of four devices
  scenario.strategy.micro_batches = 16;
  scenario.strategy.embedding_counts_as_layer = true;
  scenario.strategy.head_counts_as_layer = true;
  scenario.strategy.schedule = {schedule, {}};
  scenario.strategy.schedule.parameters.set_number("layers_per_chunk", 1);
  scenario.strategy.schedule.parameters.set_number("micro_batch_group_size", 0);
  return scenario;
}

double resident(const graph::Program& program, graph::MemoryCategory category) {
  return program.initial_memory[static_cast<std::size_t>(category)];
}

TEST(Partition, PutsTheEndsAndTheirNeighboursOnFirstAndLastRank) {
  for (const char* schedule : {"one_forward_one_backward", "interleaved"}) {
    const auto prepared = pipeline::prepare(with_ends(schedule), pipeline::builtin_catalogs());
    ASSERT_TRUE(prepared) << prepared.error().reason;
    const auto weights = [&](std::size_t rank) {
      return resident(prepared->graph.programs[rank], graph::MemoryCategory::kWeights);
    };
    const double layer = prepared->work.layer.weight_bytes.value();
    EXPECT_DOUBLE_EQ(weights(0), prepared->work.embedding.weight_bytes.value() + 2 * layer) << schedule;
    EXPECT_DOUBLE_EQ(weights(3), 3 * layer) << schedule;
    EXPECT_DOUBLE_EQ(weights(7), prepared->work.head.weight_bytes.value() + 2 * layer) << schedule;
  }
}

/// A stage of nothing but the embedding still hands its activations on.
TEST(Partition, ReplaysStagesThatHoldOnlyAnEnd) {
  const scenario::Scenario scenario = with_ends("interleaved");
  const auto result = pipeline::simulate(scenario, pipeline::builtin_catalogs());
  ASSERT_TRUE(result) << result.error().reason;
  double forward = 0;
  for (const model::BlockCost& block : result->prepared.work.layer.blocks) {
    forward += block.forward.duration.value();
  }
  double simulated = 0;
  for (const graph::Operation& operation : result->prepared.graph.programs[0].operations) {
    simulated += operation.phase == graph::Phase::kForward && operation.layer >= 0 ? operation.duration_s : 0;
  }
  EXPECT_NEAR(simulated, 16 * 2 * forward, 1e-9 * simulated);  // 16 micro-batches, chunks of 0, 1 and 1 layers
  const pipeline::Size size = pipeline::estimate_size(scenario, result->prepared.work, result->prepared.table);
  const auto operations = static_cast<double>(result->prepared.graph.size());
  EXPECT_NEAR(size.operations, operations, 0.1 * operations);
}

TEST(Partition, RefusesToCountEndsThatTheModelDoesNotHave) {
  scenario::Scenario scenario = with_ends("one_forward_one_backward");
  scenario.model.vocabulary = 0;
  const auto prepared = pipeline::prepare(scenario, pipeline::builtin_catalogs());
  ASSERT_FALSE(prepared);
  EXPECT_THAT(prepared.error().reason, HasSubstr("account_for_embedding_in_pipeline_split"));
  EXPECT_THAT(prepared.error().reason, HasSubstr("no vocabulary"));
}

TEST(Partition, RefusesPartsWithoutLayers) {
  scenario::Scenario scenario = tests::small_scenario();
  scenario.model.layers = 3;
  scenario.strategy.pipeline_parallel = 4;
  const auto catalogs = pipeline::builtin_catalogs();
  const auto table = catalogs.schedules.find("gpipe")->implementation->table({4, 4, 4, {}, {}});
  ASSERT_TRUE(table);
  const auto graph = lower(scenario, model::work_model(scenario, catalogs.cost_models), *table);
  ASSERT_FALSE(graph);
  EXPECT_THAT(graph.error().reason, HasSubstr("4 parts, and part 0 would hold no layer: 3 layers"));
}

}  // namespace
}  // namespace lamina::lowering
