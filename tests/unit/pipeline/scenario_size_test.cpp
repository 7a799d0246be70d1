#include <random>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/pipeline/simulate.hpp"
#include "sim/pipeline/size.hpp"
#include "tests/support/random_scenario.hpp"

namespace lamina::pipeline {
namespace {

TEST(ScenarioSize, IsThatOfTheOperationsWithinATenthOnRandomScenarios) {
  const Catalogs catalogs = builtin_catalogs();
  std::mt19937 random(20210604);
  int compared = 0;
  for (int round = 0; round < 60; ++round) {
    scenario::Scenario scenario = tests::random_scenario(random);
    scenario.strategy.micro_batches *= 4;  // updates are left out of the estimate and must not dominate
    scenario.simulation.fold = true;
    scenario.simulation.collective_form = scenario::CollectiveForm::kFluid;
    const auto prepared = prepare(scenario, catalogs);
    if (!prepared) {
      continue;
    }
    ++compared;
    const Size size = estimate_size(scenario, prepared->work, prepared->table);
    const auto operations = static_cast<double>(prepared->graph.size());
    EXPECT_GE(operations, least_operations(scenario)) << round;
    EXPECT_LT(size.operations, 1.1 * operations) << round;
    EXPECT_GT(size.operations, 0.5 * operations) << round << ": " << scenario.strategy.schedule.name;
  }
  EXPECT_GT(compared, 30);
}

TEST(ScenarioSize, OfAReplayOfAllRanksIsTheReplicaTimesItsCopies) {
  const Catalogs catalogs = builtin_catalogs();
  scenario::Scenario scenario = tests::small_scenario();
  scenario.strategy.data_parallel = 4;
  const auto prepared = prepare(scenario, catalogs);
  ASSERT_TRUE(prepared);
  scenario.simulation.fold = true;
  const Size folded = estimate_size(scenario, prepared->work, prepared->table);
  EXPECT_EQ(folded.activities, folded.operations);
  scenario.simulation.fold = false;
  EXPECT_EQ(estimate_size(scenario, prepared->work, prepared->table).activities, 4 * folded.operations);
}

TEST(ScenarioSize, RefusesAMillionMicroBatchesBeforeBuildingAnything) {
  scenario::Scenario scenario = tests::small_scenario();
  scenario.strategy.micro_batches = 1'000'000;
  scenario.model.layers = 1000;  // 2 x 1e9 operations
  const auto prepared = prepare(scenario, builtin_catalogs());
  ASSERT_FALSE(prepared);
  EXPECT_THAT(prepared.error().reason, testing::HasSubstr("2000 million operations"));
}

TEST(ScenarioSize, RefusesMoreThanItsLimitAndNoLess) {
  const scenario::Scenario scenario = tests::small_scenario();
  EXPECT_TRUE(check_size(scenario, {.operations = kLargestSize, .activities = kLargestSize}));
  EXPECT_FALSE(check_size(scenario, {.operations = 1.01 * kLargestSize, .activities = 0}));
  EXPECT_FALSE(check_size(scenario, {.operations = 0, .activities = 1.01 * kLargestSize}));
}

}  // namespace
}  // namespace lamina::pipeline
