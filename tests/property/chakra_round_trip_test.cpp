// A scenario written as a Chakra trace, read back and replayed on the same cluster, disturbed or not, must do
// everything at the same time.
#include <algorithm>
#include <cmath>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sim/chakra/export.hpp"
#include "sim/chakra/run_trace.hpp"
#include "sim/chakra/trace.hpp"
#include "sim/pipeline/simulate.hpp"
#include "sim/replay/replay.hpp"
#include "tests/support/random_disturbances.hpp"
#include "tests/support/random_scenario.hpp"

namespace lamina {
namespace {

constexpr double kTolerance = 1e-9;  ///< relative to the step

/// A trace's sizes are whole bytes, of an all-gather's shards.
void round_sizes(graph::OperationGraph& graph, const deployment::Deployment& whole) {
  for (std::size_t program = 0; program < graph.programs.size(); ++program) {
    const auto owner = std::find_if(whole.ranks.begin(), whole.ranks.end(), [&](const deployment::Rank& rank) {
      return rank.program == static_cast<std::int32_t>(program);
    });
    for (graph::Operation& operation : graph.programs[program].operations) {
      double unit = 1;
      if (operation.kind == graph::OperationKind::kCollective &&
          operation.collective == graph::CollectiveKind::kAllGather) {
        const std::int32_t group = owner->groups[static_cast<std::size_t>(operation.group)];
        unit = group < 0 ? 1 : static_cast<double>(whole.groups[static_cast<std::size_t>(group)].members.size());
      }
      operation.bytes = std::round(operation.bytes / unit) * unit;
    }
  }
}

chakra::Trace written_and_read(const graph::OperationGraph& graph, const deployment::Deployment& whole) {
  const chakra::Exporter exporter(graph, whole);
  const auto ranks = static_cast<int>(exporter.ranks());
  chakra::Trace trace;
  trace.groups = chakra::read_groups(exporter.groups_file(), "comm_groups.json", ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    std::istringstream stream(exporter.rank_file(static_cast<std::size_t>(rank)));
    trace.ranks.push_back(chakra::read_rank(stream, {"step", rank, ranks, &trace.groups}));
  }
  return trace;
}

/// Starts and ends of each device's operations, sorted: the trace has an order of its own.
std::vector<std::vector<double>> times_by_device(const deployment::Deployment& deployment,
                                                 const timeline::Timeline& timeline) {
  std::vector<std::vector<double>> result(deployment.ranks.size());
  for (std::size_t rank = 0; rank < deployment.ranks.size(); ++rank) {
    auto& times = result[static_cast<std::size_t>(deployment.ranks[rank].device)];
    for (const timeline::Span& span : timeline.spans[rank]) {
      times.push_back(span.start);
    }
    const auto starts = static_cast<std::ptrdiff_t>(times.size());
    for (const timeline::Span& span : timeline.spans[rank]) {
      times.push_back(span.end);
    }
    std::sort(times.begin(), times.begin() + starts);
    std::sort(times.begin() + starts, times.end());
  }
  return result;
}

void expect_the_same(const scenario::Scenario& scenario, const scenario::Scenario& undisturbed) {
  const pipeline::Catalogs catalogs = pipeline::builtin_catalogs();
  auto healthy = pipeline::prepare(undisturbed, catalogs);
  ASSERT_TRUE(healthy.has_value()) << healthy.error().reason;
  round_sizes(healthy->graph, healthy->deployment);
  auto prepared = pipeline::prepare(scenario, catalogs);
  ASSERT_TRUE(prepared.has_value()) << prepared.error().reason;
  replay::Options options;
  options.communication_slowdown = scenario.simulation.communication_slowdown;
  const timeline::Timeline expected = replay::replay(healthy->graph, prepared->deployment, options);

  const chakra::Trace trace = written_and_read(healthy->graph, healthy->deployment);
  const auto run = chakra::run_trace(trace, "step", scenario, catalogs);
  ASSERT_TRUE(run.has_value()) << run.error().reason;
  EXPECT_NEAR(run->report.step_s, expected.end_s, kTolerance * expected.end_s);
  const auto before = times_by_device(prepared->deployment, expected);
  const auto after = times_by_device(run->deployment, run->timeline);
  ASSERT_EQ(before.size(), after.size());
  double largest = 0;
  for (std::size_t device = 0; device < before.size(); ++device) {
    ASSERT_EQ(before[device].size(), after[device].size()) << "device " << device;
    for (std::size_t i = 0; i < before[device].size(); ++i) {
      largest = std::max(largest, std::abs(before[device][i] - after[device][i]));
    }
  }
  EXPECT_LT(largest, kTolerance * expected.end_s);
}

class ChakraRoundTrip : public ::testing::TestWithParam<unsigned> {};

TEST_P(ChakraRoundTrip, DoesEverythingAtTheSameTime) {
  std::mt19937 random(GetParam());
  scenario::Scenario scenario = tests::random_scenario(random);
  tests::free_hosts(scenario);  // a trace holds what the device does
  scenario.simulation.fold = false;
  expect_the_same(scenario, scenario);
}

TEST_P(ChakraRoundTrip, DoesEverythingAtTheSameTimeOnADisturbedCluster) {
  std::mt19937 random(GetParam());
  scenario::Scenario scenario = tests::random_scenario(random);
  tests::free_hosts(scenario);  // a trace holds what the device does
  scenario.strategy.offload.state = false;  // computes on the host, which the delays of a trace's host count last
  scenario.simulation.fold = false;
  const scenario::Scenario undisturbed = scenario;
  const double step_s = pipeline::simulate(undisturbed, pipeline::builtin_catalogs())->report.step_s;
  tests::add_random_disturbances(random, step_s, scenario);
  expect_the_same(scenario, undisturbed);
}

INSTANTIATE_TEST_SUITE_P(Seeds, ChakraRoundTrip, ::testing::Range(1U, 41U));

TEST(ChakraFolding, FoldedAndWholeReplaysOfATraceAgree) {
  std::mt19937 random(7);
  for (int i = 0; i < 10; ++i) {
    scenario::Scenario scenario = tests::random_scenario(random);
    tests::free_hosts(scenario);
    scenario.simulation.fold = false;
    const auto prepared = pipeline::prepare(scenario, pipeline::builtin_catalogs());
    ASSERT_TRUE(prepared.has_value());
    const chakra::Trace trace = written_and_read(prepared->graph, prepared->deployment);
    const auto whole = chakra::run_trace(trace, "step", scenario, pipeline::builtin_catalogs());
    scenario.simulation.fold = true;
    const auto folded = chakra::run_trace(trace, "step", scenario, pipeline::builtin_catalogs());
    ASSERT_TRUE(whole.has_value() && folded.has_value());
    EXPECT_LE(folded->report.replayed_ranks, whole->report.replayed_ranks);
    for (std::size_t rank = 0; rank < trace.ranks.size(); ++rank) {
      const double tolerance = kTolerance * whole->report.step_s;
      EXPECT_NEAR(folded->report.rank_times[rank].exposed_s, whole->report.rank_times[rank].exposed_s, tolerance);
      EXPECT_NEAR(folded->report.rank_times[rank].waiting_s, whole->report.rank_times[rank].waiting_s, tolerance);
    }
  }
}

}  // namespace
}  // namespace lamina
