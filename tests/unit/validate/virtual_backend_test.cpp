#include "validate/virtual_backend.hpp"

#include <random>
#include <string>

#include <gtest/gtest.h>

#include "sim/error/error.hpp"
#include "sim/pipeline/simulate.hpp"
#include "sim/replay/replay.hpp"
#include "tests/support/random_disturbances.hpp"
#include "tests/support/random_scenario.hpp"
#include "validate/execute.hpp"

namespace lamina::validate {
namespace {

pipeline::Prepared whole(scenario::Scenario scenario) {
  scenario.simulation.fold = false;
  auto prepared = pipeline::prepare(scenario, pipeline::builtin_catalogs());
  EXPECT_TRUE(prepared.has_value()) << prepared.error().reason;
  return std::move(*prepared);
}

Execution execution_of(const pipeline::Prepared& prepared) {
  const auto backend = make_virtual_backend(prepared.graph, prepared.deployment);
  return execute(prepared.graph, prepared.deployment, issue_order(prepared.graph), *backend);
}

void expect_equal(const timeline::Timeline& executed, const timeline::Timeline& replayed, double tolerance) {
  ASSERT_EQ(executed.spans.size(), replayed.spans.size());
  EXPECT_NEAR(executed.end_s, replayed.end_s, tolerance * replayed.end_s);
  for (std::size_t rank = 0; rank < executed.spans.size(); ++rank) {
    for (std::size_t i = 0; i < executed.spans[rank].size(); ++i) {
      ASSERT_NEAR(executed.spans[rank][i].start, replayed.spans[rank][i].start, tolerance * replayed.end_s)
          << "rank " << rank << ", operation " << i;
      ASSERT_NEAR(executed.spans[rank][i].end, replayed.spans[rank][i].end, tolerance * replayed.end_s)
          << "rank " << rank << ", operation " << i;
    }
  }
}

class RandomExecution : public testing::TestWithParam<unsigned> {};

TEST_P(RandomExecution, HasTheDatesOfAReplayWithoutContention) {
  std::mt19937 random(GetParam());
  scenario::Scenario scenario = tests::random_scenario(random);
  tests::add_random_disturbances(random, 1.0, scenario);
  const pipeline::Prepared prepared = whole(scenario);
  replay::Options options;
  options.transport = scenario::Transport::kNoContention;
  expect_equal(execution_of(prepared).timeline, replay::replay(prepared.graph, prepared.deployment, options), 1e-9);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomExecution, testing::Range(1U, 41U));

TEST(VirtualBackend, AgreesWithSimgridForEveryScheduleWhereNoTransfersMeet) {
  // One rank a pipeline stage, one port a rank, links so fast that only latencies count.
  for (const auto& info : pipeline::builtin_catalogs().schedules.infos()) {
    scenario::Scenario scenario = tests::delayed_scenario(4, 16, 1e-2);
    scenario.strategy.schedule = tests::choose_schedule(info.name);
    scenario.strategy.micro_batches = 8;
    if (info.name == "accumulate") {
      scenario.strategy.pipeline_parallel = 1;
    }
    SCOPED_TRACE(info.name);
    const pipeline::Prepared prepared = whole(scenario);
    expect_equal(execution_of(prepared).timeline, replay::replay(prepared.graph, prepared.deployment), 1e-6);
  }
}

TEST(VirtualBackend, BeginsAnewAfterAStep) {
  const pipeline::Prepared prepared = whole(tests::small_scenario());
  const auto backend = make_virtual_backend(prepared.graph, prepared.deployment);
  const IssueOrder order = issue_order(prepared.graph);
  const Execution first = execute(prepared.graph, prepared.deployment, order, *backend);
  const Execution second = execute(prepared.graph, prepared.deployment, order, *backend);
  EXPECT_GT(first.timeline.end_s, 0);
  expect_equal(second.timeline, first.timeline, 0);
}

TEST(VirtualBackend, ThatAnOperationWasKeptFromIsAFault) {
  scenario::Scenario scenario = tests::delayed_scenario(2, 2, 1e-2);
  const pipeline::Prepared prepared = whole(scenario);
  const auto backend = make_virtual_backend(prepared.graph, prepared.deployment);
  const auto& operations = prepared.graph.programs[0].operations;
  for (std::uint32_t i = 0; i < operations.size(); ++i) {
    if (operations[i].kind == graph::OperationKind::kSend) {
      backend->launch(0, i);
      break;
    }
  }
  EXPECT_THROW((void)backend->finish(), error::InternalError);
}

TEST(Execute, RefusesAFoldedDeployment) {
  scenario::Scenario scenario = tests::small_scenario();
  scenario.strategy.data_parallel = 4;
  const auto prepared = pipeline::prepare(scenario, pipeline::builtin_catalogs());
  ASSERT_TRUE(prepared.has_value());
  ASSERT_LT(prepared->deployment.ranks.size(), 4U);
  EXPECT_THROW((void)execution_of(*prepared), error::InternalError);
}

}  // namespace
}  // namespace lamina::validate
