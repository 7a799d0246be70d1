#include <algorithm>

#include <gtest/gtest.h>

#include "sim/pipeline/simulate.hpp"
#include "tests/support/random_scenario.hpp"

namespace lamina::lowering {
namespace {

/// Exchanges of the tied embedding's gradients by pipeline rank, of four.
std::vector<long> exchanges(const std::string& schedule) {
  scenario::Scenario scenario = tests::small_scenario();
  scenario.model.vocabulary = 4096;
  scenario.model.tied_embeddings = true;
  scenario.strategy.pipeline_parallel = 4;
  scenario.strategy.micro_batches = 8;
  scenario.strategy.schedule = {schedule, {}};
  const auto prepared = pipeline::prepare(scenario, pipeline::builtin_catalogs());
  std::vector<long> counts;
  for (const graph::Program& program : prepared.value().graph.programs) {
    counts.push_back(std::count_if(program.operations.begin(), program.operations.end(), [](const auto& operation) {
      return operation.kind == graph::OperationKind::kCollective && operation.group == graph::GroupKind::kEmbedding;
    }));
  }
  return counts;
}

// Megatron-LM sums the gradients of the two copies when first and last stage are on different ranks (arXiv 2104.04473,
// section 4.1 places them so); in a V both are on rank 0 (arXiv 2405.15362).
TEST(TiedEmbeddings, AreSummedOverFirstAndLastRankThatHoldThem) {
  EXPECT_EQ(exchanges("one_forward_one_backward"), (std::vector<long>{1, 0, 0, 1}));
  EXPECT_EQ(exchanges("dual_pipe"), (std::vector<long>{1, 0, 0, 1}));
}

TEST(TiedEmbeddings, NeedNoExchangeWhenOneRankHoldsEmbeddingAndHead) {
  EXPECT_EQ(exchanges("zero_bubble_v"), (std::vector<long>{0, 0, 0, 0}));
  EXPECT_EQ(exchanges("dual_pipe_v"), (std::vector<long>{0, 0, 0, 0}));
}

/// Places in the program of the last rank, which holds the head; -1: no such operation.
struct HeadOrder {
  std::ptrdiff_t sum = -1;
  std::ptrdiff_t update = -1;
  std::ptrdiff_t gradient_to_host = -1;
};

HeadOrder head_order(bool offload) {
  scenario::Scenario scenario = tests::small_scenario();
  scenario.model.vocabulary = 4096;
  scenario.model.tied_embeddings = true;
  scenario.strategy.pipeline_parallel = 4;
  scenario.strategy.schedule = tests::choose_schedule("one_forward_one_backward");
  scenario.strategy.update = scenario::Update::kWithReduction;
  scenario.strategy.offload.state = offload;
  const auto prepared = pipeline::prepare(scenario, pipeline::builtin_catalogs());
  const auto& operations = prepared.value().graph.programs.back().operations;
  HeadOrder order;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const auto at = static_cast<std::ptrdiff_t>(i);
    const bool of_head = operations[i].layer == scenario.model.layers;
    if (operations[i].kind == graph::OperationKind::kCollective &&
        operations[i].group == graph::GroupKind::kEmbedding) {
      order.sum = at;
    } else if (of_head && operations[i].phase == graph::Phase::kUpdate) {
      order.update = at;
    } else if (of_head && operations[i].kind == graph::OperationKind::kHostCopy && operations[i].to_host) {
      order.gradient_to_host = at;
    }
  }
  return order;
}

// The update needs the sum over both copies, or they drift apart.
TEST(TiedEmbeddings, AreSummedBeforeTheHeadIsUpdated) {
  const HeadOrder order = head_order(false);
  ASSERT_GE(order.sum, 0);
  EXPECT_GT(order.update, order.sum);
}

TEST(TiedEmbeddings, AreSummedBeforeTheGradientGoesToTheHost) {
  const HeadOrder order = head_order(true);
  ASSERT_GE(order.sum, 0);
  EXPECT_GT(order.gradient_to_host, order.sum);
}

}  // namespace
}  // namespace lamina::lowering
