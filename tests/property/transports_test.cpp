// What leaving out contention may and may not change: laws between the two transports.
#include <algorithm>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "sim/deployment/deployment.hpp"
#include "sim/pipeline/simulate.hpp"
#include "sim/replay/replay.hpp"
#include "sim/symmetry/fold.hpp"
#include "tests/support/random_scenario.hpp"

namespace lamina {
namespace {

using scenario::Transport;

replay::Options over(Transport transport) {
  replay::Options options;
  options.transport = transport;
  return options;
}

class RandomLayout : public ::testing::TestWithParam<unsigned> {};

TEST_P(RandomLayout, IsNeverSlowerWithoutContentionAndFoldsExactly) {
  std::mt19937 random(GetParam());
  scenario::Scenario scenario = tests::random_scenario(random);
  scenario.simulation.fold = false;
  const auto prepared = pipeline::prepare(scenario, pipeline::builtin_catalogs());
  ASSERT_TRUE(prepared.has_value()) << prepared.error().reason;
  const symmetry::Folding folding = symmetry::fold(prepared->deployment);
  const timeline::Timeline shared = replay::replay(prepared->graph, folding.folded, over(Transport::kSimgrid));
  const timeline::Timeline whole =
      replay::replay(prepared->graph, prepared->deployment, over(Transport::kNoContention));
  const timeline::Timeline folded = replay::replay(prepared->graph, folding.folded, over(Transport::kNoContention));
  EXPECT_LE(folded.end_s, shared.end_s * (1 + 1e-9));
  for (std::size_t rank = 0; rank < whole.spans.size(); ++rank) {
    const auto representative = static_cast<std::size_t>(folding.class_of_rank[rank]);
    for (std::size_t i = 0; i < whole.spans[rank].size(); ++i) {
      const timeline::Span& one = whole.spans[rank][i];
      const timeline::Span& same = folded.spans[representative][i];
      ASSERT_NEAR(one.start, same.start, 1e-9 * whole.end_s) << "rank " << rank << ", operation " << i;
      ASSERT_NEAR(one.end, same.end, 1e-9 * whole.end_s) << "rank " << rank << ", operation " << i;
      // Streams are in order, so that every date is a monotone function of every duration.
      const timeline::Span& late = shared.spans[representative][i];
      ASSERT_LE(same.end, late.end + 1e-9 * shared.end_s) << "rank " << rank << ", operation " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomLayout, ::testing::Range(1U, 61U));

double step_time(scenario::Scenario scenario, Transport transport) {
  scenario.simulation.transport = transport;
  const auto result = pipeline::simulate(scenario, pipeline::builtin_catalogs());
  EXPECT_TRUE(result.has_value()) << scenario.strategy.schedule.name << ": " << result.error().reason;
  return result ? result->report.step_s : 0;
}

TEST(Transports, AgreeForEveryScheduleWhereNoTransfersMeet) {
  // One rank a pipeline stage, one port a rank, links so fast that only latencies count: both replay the same dates.
  for (const auto& info : pipeline::builtin_catalogs().schedules.infos()) {
    scenario::Scenario scenario = tests::delayed_scenario(4, 16, 1e-2);
    scenario.strategy.schedule = tests::choose_schedule(info.name);
    scenario.strategy.micro_batches = 8;
    if (info.name == "accumulate") {
      scenario.strategy.pipeline_parallel = 1;
    }
    const double shared = step_time(scenario, Transport::kSimgrid);
    EXPECT_GT(shared, 0) << info.name;
    EXPECT_NEAR(step_time(scenario, Transport::kNoContention), shared, 1e-9 * shared) << info.name;
  }
}

TEST(Transports, DifferWhereReductionsMeetMessages) {
  // Two pipeline ranks and two replicas whose devices share one port a node: the reductions of the last stage and the
  // messages cross the same port.
  scenario::Scenario scenario = tests::small_scenario();
  scenario.strategy.pipeline_parallel = 2;
  scenario.strategy.data_parallel = 2;
  scenario.strategy.schedule = tests::choose_schedule("layered_modular");
  scenario.cluster.nodes = 4;
  scenario.cluster.node.devices = 1;
  scenario.cluster.node.device_link_domain = 1;
  scenario.cluster.node.nics = 1;
  scenario.cluster.network.bandwidth = BytesPerSecond(2e8);
  const double shared = step_time(scenario, Transport::kSimgrid);
  const double alone = step_time(scenario, Transport::kNoContention);
  EXPECT_LT(alone, 0.99 * shared);
}

TEST(Transports, TheReportNamesTheOneItUsed) {
  scenario::Scenario scenario = tests::small_scenario();
  EXPECT_EQ(pipeline::simulate(scenario, pipeline::builtin_catalogs())->report.transport, "SimGrid");
  scenario.simulation.transport = Transport::kNoContention;
  EXPECT_EQ(pipeline::simulate(scenario, pipeline::builtin_catalogs())->report.transport, "no contention");
}

TEST(Transports, LinkLoadsWithoutContentionAreWhatTransfersWouldNeed) {
  // Four devices of a node whose checkpoints go to the host together over a shared path of two devices each.
  scenario::Scenario scenario = tests::small_scenario();
  scenario.strategy.data_parallel = 4;
  scenario.strategy.offload.checkpoints = true;
  scenario.simulation.transport = Transport::kNoContention;
  const auto result = pipeline::simulate(scenario, pipeline::builtin_catalogs());
  ASSERT_TRUE(result.has_value());
  bool above = false;
  for (const report::LinkLoad& load : result->report.links) {
    above = above || load.peak_bytes_per_s > load.bandwidth_bytes_per_s * 1.5;
  }
  EXPECT_TRUE(above);
}

}  // namespace
}  // namespace lamina
