#include <gtest/gtest.h>

#include "schedules/schedule.hpp"
#include "tests/unit/schedules/reference_tables.hpp"
#include "tests/unit/schedules/table_text.hpp"

namespace lamina::schedules {
namespace {

using testing::text;

const Schedule& schedule(const catalog::Catalog<Schedule>& catalog, const std::string& name) {
  return *catalog.find(name)->implementation;
}

ScheduleRequest layered_request(int ranks, int micro_batches, int layers, int layers_per_chunk,
                                const std::string& order) {
  ScheduleRequest request;
  request.pipeline_parallel = ranks;
  request.micro_batches = micro_batches;
  request.layers = layers;
  request.parameters.set_number("layers_per_chunk", layers_per_chunk);
  request.parameters.set_choice("backward_order", order);
  return request;
}

TEST(ScheduleTable, EqualsTheReferenceTablesCellByCell) {
  const auto tables = testing::reference_tables();
  if (tables.empty()) {
    GTEST_SKIP() << "measured and reference data are absent: " << testing::reference_folder();
  }
  EXPECT_EQ(tables.size(), 76U);
  const auto catalog = builtin_schedules();
  for (const testing::ReferenceTable& reference : tables) {
    SCOPED_TRACE(reference.file);
    const auto table = schedule(catalog, reference.schedule).table(testing::request_for(reference));
    ASSERT_TRUE(table) << table.error().reason;
    const auto rows = testing::read_csv(testing::reference_folder() / "compute" / reference.file);
    ASSERT_EQ(rows.size(), table->actions.size());
    for (std::size_t rank = 0; rank < rows.size(); ++rank) {
      std::string expected;
      for (const std::string& cell : rows[rank]) {
        expected += (expected.empty() ? "" : " ") + cell;
      }
      EXPECT_EQ(text(table->actions[rank]), expected) << "rank " << rank;
    }
  }
}

// Order of Huang et al. (GPipe): forwards, then backwards, ascending.
TEST(Gpipe, RunsAllForwardsThenAllBackwardsAscending) {
  const auto catalog = builtin_schedules();
  const auto table =
      schedule(catalog, "gpipe").table({.pipeline_parallel = 2, .micro_batches = 3, .layers = 8, .parameters = {}});
  ASSERT_TRUE(table);
  EXPECT_EQ(table->model_chunks, 2);
  EXPECT_EQ(text(table->actions[0]), "0F0 0F1 0F2 0B0 0B1 0B2");
  EXPECT_EQ(text(table->actions[1]), "1F0 1F1 1F2 1B0 1B1 1B2");
}

// Figure 4, bottom left, of Narayanan et al. (arXiv 2104.04473) has this order on every device.
TEST(OneForwardOneBackward, WarmsUpWithThePipelineDepthThenAlternates) {
  const auto catalog = builtin_schedules();
  const auto table = schedule(catalog, "one_forward_one_backward")
                         .table({.pipeline_parallel = 3, .micro_batches = 4, .layers = 3, .parameters = {}});
  ASSERT_TRUE(table);
  EXPECT_EQ(text(table->actions[0]), "0F0 0F1 0F2 0B0 0F3 0B1 0B2 0B3");
  EXPECT_EQ(text(table->actions[1]), "1F0 1F1 1B0 1F2 1B1 1F3 1B2 1B3");
  EXPECT_EQ(text(table->actions[2]), "2F0 2B0 2F1 2B1 2F2 2B2 2F3 2B3");
}

TEST(OneForwardOneBackward, HoldsAtMostPipelineDepthActivations) {
  const auto catalog = builtin_schedules();
  for (const int micro_batches : {1, 3, 8, 20}) {
    const auto table =
        schedule(catalog, "one_forward_one_backward")
            .table({.pipeline_parallel = 8, .micro_batches = micro_batches, .layers = 16, .parameters = {}});
    ASSERT_TRUE(table);
    for (int rank = 0; rank < 8; ++rank) {
      int alive = 0;
      int peak = 0;
      for (const Action& action : table->actions[static_cast<std::size_t>(rank)]) {
        alive += action.type == ActionType::kForward ? 1 : -1;
        peak = std::max(peak, alive);
      }
      EXPECT_EQ(peak, std::min(micro_batches, 8 - rank)) << "rank " << rank << ", micro-batches " << micro_batches;
    }
  }
}

TEST(LayeredModular, PassesAllMicroBatchesThroughAChunkBeforeTheNext) {
  const auto catalog = builtin_schedules();
  const auto table = schedule(catalog, "layered_modular").table(layered_request(2, 2, 4, 1, "ascending"));
  ASSERT_TRUE(table);
  EXPECT_EQ(text(table->actions[0]), "0F0 0F1 2F0 2F1 2B0 2B1 0B0 0B1");
  EXPECT_EQ(text(table->actions[1]), "1F0 1F1 3F0 3F1 3B0 3B1 1B0 1B1");
}

TEST(LayeredModular, ReversesOnlyTheBackwardMicroBatchesWhenDescending) {
  const auto catalog = builtin_schedules();
  const auto table = schedule(catalog, "layered_modular").table(layered_request(1, 3, 2, 1, "descending"));
  ASSERT_TRUE(table);
  EXPECT_EQ(text(table->actions[0]), "0F0 0F1 0F2 1F0 1F1 1F2 1B2 1B1 1B0 0B2 0B1 0B0");
}

TEST(LayeredModular, HasOneStagePerRankWhenAChunkHoldsTheRanksWholeShare) {
  const auto catalog = builtin_schedules();
  const auto layered = schedule(catalog, "layered_modular").table(layered_request(4, 6, 12, 3, "ascending"));
  const auto gpipe =
      schedule(catalog, "gpipe").table({.pipeline_parallel = 4, .micro_batches = 6, .layers = 12, .parameters = {}});
  ASSERT_TRUE(layered);
  ASSERT_TRUE(gpipe);
  EXPECT_EQ(layered->actions, gpipe->actions);
}

TEST(LayeredModular, RefusesChunksThatDoNotDivideTheLayersWithTheNumbers) {
  const auto catalog = builtin_schedules();
  const auto table = schedule(catalog, "layered_modular").table(layered_request(4, 6, 24, 5, "ascending"));
  ASSERT_FALSE(table);
  EXPECT_EQ(table.error().reason, "24 layers do not divide evenly over 4 pipeline ranks in chunks of 5 layers.");
}

TEST(Accumulate, AlternatesForwardAndBackwardOfEachMicroBatch) {
  const auto catalog = builtin_schedules();
  const auto table = schedule(catalog, "accumulate")
                         .table({.pipeline_parallel = 1, .micro_batches = 3, .layers = 5, .parameters = {}});
  ASSERT_TRUE(table);
  EXPECT_EQ(table->model_chunks, 1);
  EXPECT_EQ(text(table->actions[0]), "0F0 0B0 0F1 0B1 0F2 0B2");
}

TEST(Accumulate, RefusesAPipeline) {
  const auto catalog = builtin_schedules();
  const auto table = schedule(catalog, "accumulate")
                         .table({.pipeline_parallel = 2, .micro_batches = 3, .layers = 4, .parameters = {}});
  ASSERT_FALSE(table);
  EXPECT_NE(table.error().reason.find("pipeline_parallel is 2"), std::string::npos);
}

TEST(LoopingPlacement, PutsStageSOnRankSModuloRanksInOneChain) {
  const std::vector<Stage> stages = looping_placement(3, 6);
  ASSERT_EQ(stages.size(), 6U);
  for (int stage = 0; stage < 6; ++stage) {
    const Stage& placed = stages[static_cast<std::size_t>(stage)];
    EXPECT_EQ(placed.rank, stage % 3);
    EXPECT_EQ(placed.model_chunk, stage);
    EXPECT_EQ(placed.previous, stage - 1);
    EXPECT_EQ(placed.next, stage == 5 ? -1 : stage + 1);
  }
}

// Cell text of PyTorch's pipeline CSV: <stage><type><micro-batch>.
TEST(ActionText, NamesStageTypeAndMicroBatch) {
  EXPECT_EQ(to_string({.type = ActionType::kForward, .stage = 0, .micro_batch = 3}), "0F3");
  EXPECT_EQ(to_string({.type = ActionType::kBackward, .stage = 2, .micro_batch = 0}), "2B0");
  EXPECT_EQ(to_string({.type = ActionType::kInputGradient, .stage = 1, .micro_batch = 4}), "1I4");
  EXPECT_EQ(to_string({.type = ActionType::kWeightGradient, .stage = 11, .micro_batch = 14}), "11W14");
}

}  // namespace
}  // namespace lamina::schedules
