// Restores and reductions where PyTorch's lowering puts them, and where a lowered table says.
#include <algorithm>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "sim/lowering/sharding.hpp"
#include "sim/pipeline/simulate.hpp"
#include "tests/support/random_scenario.hpp"
#include "tests/unit/schedules/reference_tables.hpp"

namespace lamina::lowering {
namespace {

using schedules::ActionType;
using schedules::LoweredAction;
using schedules::LoweredType;

/// Two stages of two layers each on one rank, one micro-batch: F of stage 0, F of stage 1, B of stage 1, B of stage 0.
RoleTasks two_stages() {
  RoleTasks role;
  role.units = {{0, 0, nullptr}, {0, 1, nullptr}, {1, 2, nullptr}, {1, 3, nullptr}};
  const auto add = [&role](ActionType type, int stage, int first, int second) {
    role.tasks.push_back({type, stage, 0, first, true, false});
    role.tasks.push_back({type, stage, 0, second, false, true});
  };
  add(ActionType::kForward, 0, 0, 1);
  add(ActionType::kForward, 1, 2, 3);
  add(ActionType::kBackward, 1, 3, 2);
  add(ActionType::kBackward, 0, 1, 0);
  return role;
}

LoweredAction at(LoweredType type, int stage) {
  return {type, stage, -1, false};
}

constexpr scenario::Sharding kFull{scenario::ShardingLevel::kFull, 2, 2, true};

TEST(PrescribedSharding, RestoresAtUnshardAndDropsAtReshard) {
  const RoleTasks role = two_stages();
  const CommunicationGaps gaps = {{at(LoweredType::kUnshard, 0)},
                                  {at(LoweredType::kReshard, 0), at(LoweredType::kUnshard, 1)},
                                  {},
                                  {at(LoweredType::kReshard, 1), at(LoweredType::kUnshard, 0)},
                                  {at(LoweredType::kReshard, 0)}};
  const DataParallelPlan plan = plan_as_prescribed(role, kFull, gaps);
  ASSERT_EQ(plan.restores.size(), 6U);  // three residencies of two units
  // Stage 0 for its forward: at the start, until before task 2.
  EXPECT_EQ(plan.restores[0].unit, 0);
  EXPECT_EQ(plan.restores[0].issue_after, kStepStart);
  EXPECT_EQ(plan.restores[0].first_task, 0);
  EXPECT_EQ(plan.restores[0].last_task, 1);
  EXPECT_EQ(plan.restores[1].unit, 1);
  EXPECT_EQ(plan.restores[1].first_task, 1);
  // Stage 1 stays from its forward to its backward: tasks 2 to 5, restored after task 1.
  EXPECT_EQ(plan.restores[2].unit, 2);
  EXPECT_EQ(plan.restores[2].issue_after, 1);
  EXPECT_EQ(plan.restores[2].last_task, 5);
  // Stage 0 again, for the backward; its second layer is needed first.
  EXPECT_EQ(plan.restores[4].unit, 1);
  EXPECT_EQ(plan.restores[4].issue_after, 5);
  EXPECT_EQ(plan.restores[4].first_task, 6);
  EXPECT_EQ(plan.restores[5].first_task, 7);
}

TEST(PrescribedSharding, WithoutPrefetchRestoresRightBeforeTheUse) {
  const CommunicationGaps gaps = {{at(LoweredType::kUnshard, 0), at(LoweredType::kUnshard, 1)}, {}, {}, {}, {}};
  const DataParallelPlan plan = plan_as_prescribed(two_stages(), {scenario::ShardingLevel::kFull, 2, 2, false}, gaps);
  ASSERT_EQ(plan.restores.size(), 4U);
  for (const Restore& restore : plan.restores) {
    EXPECT_EQ(restore.issue_after, restore.first_task - 1);
    EXPECT_EQ(restore.last_task, 7) << "never resharded: resident to the end";
  }
}

TEST(PrescribedSharding, ReducesAllUnitsOfAStageAtReduceGrad) {
  // Stage 1's gradients are complete after task 5, stage 0's after task 7; the row reduces stage 1 at the end too.
  const CommunicationGaps gaps = {
      {}, {}, {}, {}, {at(LoweredType::kReduceGradients, 1), at(LoweredType::kReduceGradients, 0)}};
  const DataParallelPlan plan = plan_as_prescribed(two_stages(), kFull, gaps);
  ASSERT_EQ(plan.reduces.size(), 4U);
  for (const Reduce& reduce : plan.reduces) {
    EXPECT_EQ(reduce.after, 7);
    EXPECT_TRUE(reduce.is_last);
  }
  const DataParallelPlan unsaid = plan_as_prescribed(two_stages(), kFull, {{}, {}, {}, {}, {}});
  ASSERT_EQ(unsaid.reduces.size(), 4U);
  EXPECT_EQ(unsaid.reduces.front().after, 4) << "after the unit's own last gradient";
}

TEST(LookAhead, RestoresAsOftenAsTheReferenceTablesUnshard) {
  const auto tables = schedules::testing::reference_tables();
  if (tables.empty()) {
    GTEST_SKIP() << "measured and reference data are absent: " << schedules::testing::reference_folder();
  }
  const auto rows = schedules::testing::read_csv(schedules::testing::reference_folder() / "expected.csv");
  const auto& head = rows.front();
  const auto column =
      static_cast<std::size_t>(std::find(head.begin(), head.end(), "max_unshards_per_rank") - head.begin());
  std::map<std::string, std::string> unshards;
  for (const auto& row : rows) {
    unshards[row.front()] = row.at(column);
  }
  const auto catalogs = pipeline::builtin_catalogs();
  int compared = 0;
  for (const auto& reference : tables) {
    const std::string& expected = unshards[reference.file.substr(0, reference.file.size() - 4)];
    if (expected.empty()) {
      continue;  // no lowered table of DualPipe
    }
    SCOPED_TRACE(reference.file);
    scenario::Scenario scenario = tests::delayed_scenario(reference.ranks, reference.ranks * reference.chunks, 0);
    scenario.cluster.nodes = 2 * reference.ranks;
    scenario.strategy.data_parallel = 2;
    scenario.strategy.micro_batches = reference.micro_batches;
    scenario.strategy.schedule = {reference.schedule, reference.parameters};
    scenario.strategy.sharding = kFull;
    scenario.strategy.sharding.residency = scenario::Residency::kLookAhead;
    scenario.strategy.sharding.look_ahead_stages = 3;
    const auto prepared = pipeline::prepare(scenario, catalogs);
    ASSERT_TRUE(prepared.has_value()) << prepared.error().reason;
    long most = 0;
    for (const graph::Program& program : prepared->graph.programs) {
      most = std::max(most, static_cast<long>(std::count_if(
                                program.operations.begin(), program.operations.end(),
                                [](const auto& operation) { return operation.phase == graph::Phase::kRestore; })));
    }
    EXPECT_EQ(most, std::stol(expected));
    ++compared;
  }
  EXPECT_GE(compared, 70);
}

}  // namespace
}  // namespace lamina::lowering
