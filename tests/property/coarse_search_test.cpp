// The coarse estimate must be the replay without contention, only quicker.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sim/pipeline/coarse.hpp"
#include "sim/pipeline/simulate.hpp"
#include "tests/support/random_scenario.hpp"

namespace lamina {
namespace {

using pipeline::CoarseEstimate;
using pipeline::CoarseSearch;

pipeline::Result replayed(scenario::Scenario scenario) {
  scenario.simulation.transport = scenario::Transport::kNoContention;
  auto result = pipeline::simulate(scenario, pipeline::builtin_catalogs());
  EXPECT_TRUE(result.has_value()) << result.error().reason;
  return std::move(*result);
}

/// Whether all ranks of each program do the same at the same time.
bool replicas_agree(const pipeline::Result& result) {
  std::vector<const std::vector<timeline::Span>*> first(result.prepared.graph.programs.size(), nullptr);
  for (std::size_t rank = 0; rank < result.timeline.spans.size(); ++rank) {
    const auto& spans = result.timeline.spans[rank];
    auto& other = first[static_cast<std::size_t>(result.prepared.deployment.ranks[rank].program)];
    if (other == nullptr) {
      other = &spans;
    }
    for (std::size_t i = 0; i < spans.size(); ++i) {
      if (std::abs(spans[i].end - (*other)[i].end) > 1e-12 * result.timeline.end_s) {
        return false;
      }
    }
  }
  return true;
}

/// Most bytes that communication holds at once on any rank: message buffers, restored weights, gradients that wait for
/// their reduction, optimizer state on its way.
double held_by_communication(const pipeline::Result& result) {
  double most = 0;
  for (std::size_t rank = 0; rank < result.timeline.spans.size(); ++rank) {
    const auto program = static_cast<std::size_t>(result.prepared.deployment.ranks[rank].program);
    std::vector<std::pair<double, double>> changes;
    for (const graph::MemoryEffect& effect : result.prepared.graph.programs[program].memory_effects) {
      if (effect.category != graph::MemoryCategory::kWorkingSet &&
          effect.category != graph::MemoryCategory::kCheckpoints) {
        const timeline::Span& span = result.timeline.spans[rank][effect.operation];
        changes.emplace_back(effect.at_end ? span.end : span.start, -effect.bytes);  // taken before given back
      }
    }
    std::sort(changes.begin(), changes.end());
    double now = 0;
    for (const auto& [time, returned] : changes) {
      now -= returned;
      most = std::max(most, now);
    }
  }
  return most + result.prepared.work.message.value();
}

class CoarseLayout : public ::testing::TestWithParam<unsigned> {};

TEST_P(CoarseLayout, HasTheStepOfTheReplayWithoutContentionAndItsMemory) {
  std::mt19937 random(GetParam());
  const pipeline::Catalogs catalogs = pipeline::builtin_catalogs();
  scenario::Scenario scenario = tests::random_scenario(random);
  if (GetParam() % 3 == 0) {
    tests::draw_protocols(scenario, random);
  }
  const auto estimate = CoarseSearch(catalogs).estimate(scenario);
  ASSERT_TRUE(estimate.has_value()) << estimate.error().reason;
  const pipeline::Result full = replayed(scenario);
  ASSERT_LE(estimate->operations, static_cast<std::int64_t>(full.prepared.graph.size()));
  if (!replicas_agree(full)) {
    // Nodes cut the replicas differently: replica 0 is then only one of them.
    EXPECT_LE(estimate->step_s, full.report.step_s * (1 + 1e-9));
    return;
  }
  EXPECT_NEAR(estimate->step_s, full.report.step_s, 1e-9 * full.report.step_s);
  EXPECT_NEAR(estimate->efficiency, full.report.efficiency, 1e-9);
  EXPECT_NEAR(estimate->model_flop_utilisation, full.report.model_flop_utilisation, 1e-9);
  EXPECT_NEAR(estimate->hardware_flop_utilisation, full.report.hardware_flop_utilisation, 1e-9);
  EXPECT_NEAR(estimate->tokens_per_s, full.report.tokens_per_s, 1e-9 * full.report.tokens_per_s);
  EXPECT_GE(estimate->peak_bytes, full.report.memory.peak_bytes * (1 - 1e-9));
  if (!scenario.strategy.offload.checkpoints) {
    EXPECT_LE(estimate->peak_bytes, full.report.memory.peak_bytes * (1 + 1e-9) + held_by_communication(full));
  }
  EXPECT_EQ(estimate->capacity_bytes, full.report.memory_capacity_bytes);
}

INSTANTIATE_TEST_SUITE_P(Seeds, CoarseLayout, ::testing::Range(1U, 121U));

/// A pipeline of four ranks and two replicas under any schedule that serves it.
scenario::Scenario pipelined(const std::string& schedule) {
  scenario::Scenario scenario = tests::small_scenario();
  scenario.cluster.nodes = 4;
  scenario.strategy.pipeline_parallel = schedule == "accumulate" ? 1 : 4;
  scenario.strategy.data_parallel = 2;
  scenario.strategy.tensor_parallel = 2;
  scenario.strategy.micro_batches = 8;
  scenario.strategy.schedule = tests::choose_schedule(schedule);
  return scenario;
}

TEST(CoarseSearch, ServesEveryScheduleUnderEveryShardingInOneObject) {
  const pipeline::Catalogs catalogs = pipeline::builtin_catalogs();
  CoarseSearch search(catalogs);
  for (const auto& info : catalogs.schedules.infos()) {
    for (const auto level : {scenario::ShardingLevel::kNone, scenario::ShardingLevel::kOptimizer,
                             scenario::ShardingLevel::kGradients, scenario::ShardingLevel::kFull}) {
      scenario::Scenario scenario = pipelined(info.name);
      scenario.strategy.sharding.level = level;
      const auto estimate = search.estimate(scenario);
      ASSERT_TRUE(estimate.has_value()) << info.name << ": " << estimate.error().reason;
      const pipeline::Result full = replayed(scenario);
      EXPECT_NEAR(estimate->step_s, full.report.step_s, 1e-9 * full.report.step_s) << info.name;
      EXPECT_GE(estimate->peak_bytes, full.report.memory.peak_bytes * (1 - 1e-9)) << info.name;
    }
  }
}

TEST(CoarseSearch, ServesEveryWayToIssueMessages) {
  const pipeline::Catalogs catalogs = pipeline::builtin_catalogs();
  CoarseSearch search(catalogs);
  for (const auto mode : {scenario::PointToPoint::kSeparateStreams, scenario::PointToPoint::kEarlyPosted,
                          scenario::PointToPoint::kFusedRendezvous, scenario::PointToPoint::kBlocking}) {
    scenario::Scenario scenario = pipelined("one_forward_one_backward");
    scenario.strategy.point_to_point = mode;
    const auto estimate = search.estimate(scenario);
    const auto full = pipeline::simulate(scenario, catalogs);
    ASSERT_EQ(estimate.has_value(), full.has_value());
    if (!estimate) {  // 1F1B cannot run with blocking messages
      EXPECT_EQ(estimate.error().reason, full.error().reason);
      continue;
    }
    EXPECT_NEAR(estimate->step_s, replayed(scenario).report.step_s, 1e-9 * estimate->step_s);
  }
}

TEST(CoarseSearch, ForgetsTheFabricOfAnotherCluster) {
  const pipeline::Catalogs catalogs = pipeline::builtin_catalogs();
  CoarseSearch search(catalogs);
  scenario::Scenario scenario = pipelined("gpipe");
  const double first = search.estimate(scenario)->step_s;
  scenario.cluster.network.bandwidth = BytesPerSecond(1e8);
  const double second = search.estimate(scenario)->step_s;
  EXPECT_GT(second, first);
  EXPECT_NEAR(second, replayed(scenario).report.step_s, 1e-9 * second);
  scenario.cluster.network.bandwidth = BytesPerSecond(5e9);
  EXPECT_EQ(search.estimate(scenario)->step_s, first);
}

TEST(CoarseSearch, SaysWhatTheSimulationSaysOfALayoutThatCannotBe) {
  const pipeline::Catalogs catalogs = pipeline::builtin_catalogs();
  scenario::Scenario scenario = pipelined("one_forward_one_backward");
  scenario.model.layers = 7;  // over four ranks
  const auto estimate = CoarseSearch(catalogs).estimate(scenario);
  const auto full = pipeline::simulate(scenario, catalogs);
  ASSERT_EQ(estimate.has_value(), full.has_value());
  ASSERT_FALSE(estimate.has_value());
  EXPECT_EQ(estimate.error().reason, full.error().reason);
}

TEST(CoarseSearch, ReplaysInFullWhatClosedDurationsCannotSay) {
  const pipeline::Catalogs catalogs = pipeline::builtin_catalogs();
  scenario::Scenario scenario = pipelined("one_forward_one_backward");
  scenario.simulation.communication_slowdown = 0.3;
  const auto estimate = CoarseSearch(catalogs).estimate(scenario);
  ASSERT_TRUE(estimate.has_value());
  const pipeline::Result full = replayed(scenario);
  EXPECT_EQ(estimate->step_s, full.report.step_s);
  EXPECT_EQ(estimate->operations, static_cast<std::int64_t>(full.prepared.graph.size()));
}

TEST(CoarseSearch, NeedsFarFewerOperations) {
  const pipeline::Catalogs catalogs = pipeline::builtin_catalogs();
  scenario::Scenario scenario = pipelined("one_forward_one_backward");
  scenario.model.layers = 32;
  const auto estimate = CoarseSearch(catalogs).estimate(scenario);
  ASSERT_TRUE(estimate.has_value());
  EXPECT_LT(5 * estimate->operations, static_cast<std::int64_t>(replayed(scenario).prepared.graph.size()));
}

}  // namespace
}  // namespace lamina
