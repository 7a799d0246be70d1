#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/pipeline/simulate.hpp"
#include "tests/support/random_scenario.hpp"

namespace lamina::pipeline {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Result result_of(const scenario::Scenario& scenario) {
  auto result = simulate(scenario, builtin_catalogs());
  EXPECT_TRUE(result.has_value()) << (result ? "" : result.error().reason);
  return std::move(*result);
}

TEST(DisturbedStep, TakesTwiceAsLongOnADeviceThatComputesAtHalfTheSpeed) {
  scenario::Scenario scenario = tests::small_scenario();
  const double nominal = result_of(scenario).report.step_s;
  scenario.disturbances.slow_devices = {{0, 1, 2.0}};
  const Result slow = result_of(scenario);
  EXPECT_NEAR(slow.report.step_s, 2 * nominal, 1e-12 * nominal);
  EXPECT_THAT(slow.report.disturbances,
              ElementsAre("slow device: device 0 (device 0 of node 0) computes 2 times as long"));
}

TEST(DisturbedStep, WaitsForTheHostAsOftenAsSaid) {
  scenario::Scenario scenario = tests::small_scenario();
  const Result nominal = result_of(scenario);
  std::size_t computations = 0;
  for (const graph::Operation& operation : nominal.prepared.graph.programs[0].operations) {
    computations += operation.kind == graph::OperationKind::kCompute ? 1 : 0;
  }
  scenario.disturbances.host_delays = {{0, Seconds(1e-3), 4}};
  EXPECT_NEAR(result_of(scenario).report.step_s, nominal.report.step_s + 1e-3 * static_cast<double>(computations / 4),
              1e-12);
}

/// A pipeline of two nodes with two devices and ports each; messages of 1 GB that take far longer than compute.
scenario::Scenario two_nodes() {
  scenario::Scenario scenario = tests::delayed_scenario(2, 2, 0);
  scenario.cluster.node.devices = 2;
  scenario.cluster.node.nics = 2;
  scenario.cluster.network.bandwidth = BytesPerSecond(1e9);
  scenario.model.custom->message = Bytes(10e9);
  scenario.model.custom->forward = Seconds(1e-3);
  scenario.model.custom->input_gradient = Seconds(1e-3);
  scenario.model.custom->weight_gradient = Seconds(1e-3);
  scenario.strategy.data_parallel = 2;
  scenario.strategy.micro_batches = 1;
  return scenario;
}

// One message each way of 10 GB over 1 GB/s; after one of two ports of a node has failed both replicas share the other.
TEST(DisturbedStep, HasHalfTheBandwidthWhenTwoDevicesShareThePortThatIsLeft) {
  scenario::Scenario scenario = two_nodes();
  const double nominal = result_of(scenario).report.step_s;
  EXPECT_NEAR(nominal, 20 + 6e-3, 1e-4);
  scenario.disturbances.failed_ports = {{1, 0}};
  EXPECT_NEAR(result_of(scenario).report.step_s, 40 + 6e-3, 1e-4);
}

// The whole port of one replica is at a quarter: its two messages take four times as long.
TEST(DisturbedStep, WaitsForASlowPortInBothDirections) {
  scenario::Scenario scenario = two_nodes();
  scenario::SlowLink slow;
  slow.node = 0;
  slow.port = 1;
  slow.profile = {{Seconds(0), 0.25}};
  scenario.disturbances.slow_links = {slow};
  const Result result = result_of(scenario);
  EXPECT_NEAR(result.report.step_s, 80 + 6e-3, 1e-4);
  EXPECT_THAT(result.prepared.split_reasons, Contains(HasSubstr("link share over time")));
}

// Half of the time nothing, half of the time everything: without contention a message takes twice as long.
TEST(DisturbedStep, CountsTheBestShareOfALinkWithoutContention) {
  scenario::Scenario scenario = two_nodes();
  scenario.simulation.transport = scenario::Transport::kNoContention;
  scenario::SlowLink slow;
  slow.node = 0;
  slow.port = 1;
  slow.profile = {{Seconds(0), 0.5}, {Seconds(0.5), 0}};
  slow.period = Seconds(1);
  scenario.disturbances.slow_links = {slow};
  EXPECT_NEAR(result_of(scenario).report.step_s, 40 + 6e-3, 1e-4);
}

TEST(DisturbedStep, SaysWhatHasNoEffect) {
  scenario::Scenario scenario = two_nodes();
  scenario.cluster.nodes = 4;
  const double nominal = result_of(scenario).report.step_s;
  scenario::SlowLink slow;
  slow.node = 2;
  slow.profile = {{Seconds(0), 0.25}};
  scenario.disturbances.slow_devices = {{6, 2, 3.0}};
  scenario.disturbances.slow_links = {slow};
  scenario.disturbances.failed_ports = {{3, 0}};
  scenario.disturbances.host_delays = {{7, Seconds(1), 1}};
  const Result result = result_of(scenario);
  EXPECT_EQ(result.report.step_s, nominal);
  EXPECT_EQ(result.report.disturbances.size(), 4U);
  for (const char* kind : {"slow device", "slow link", "failed port", "host delay"}) {
    EXPECT_THAT(result.report.warnings, Contains(HasSubstr(std::string("no effect: ") + kind)));
  }
}

TEST(Jitter, LeavesTheStepAndAddsADistributionThatIsTheSameEveryTime) {
  scenario::Scenario scenario = tests::small_scenario();
  scenario.strategy.data_parallel = 4;
  const double nominal = result_of(scenario).report.step_s;
  scenario.disturbances.jitter = scenario::Jitter{.standard_deviation = 0.1, .seed = 3, .repeats = 7};
  const report::Report first = result_of(scenario).report;
  EXPECT_EQ(first.step_s, nominal);
  ASSERT_TRUE(first.distribution.has_value());
  const report::StepDistribution times = *first.distribution;
  EXPECT_EQ(times.repeats, 7);
  EXPECT_LT(times.least_s, times.p50_s);
  EXPECT_LT(times.p50_s, times.p99_s);
  EXPECT_LT(times.p99_s, times.most_s);
  EXPECT_GT(times.mean_s, nominal);  // the slowest of four replicas at every barrier
  EXPECT_EQ(result_of(scenario).report.distribution->p99_s, times.p99_s);
  scenario.disturbances.jitter->seed = 4;
  EXPECT_NE(result_of(scenario).report.distribution->p99_s, times.p99_s);
}

TEST(Jitter, RefusesMoreRepeatsThanCanBeSimulated) {
  scenario::Scenario scenario = tests::small_scenario();
  scenario.strategy.data_parallel = 4000;
  scenario.cluster.nodes = 1000;
  scenario.disturbances.jitter = scenario::Jitter{.standard_deviation = 0.1, .seed = 3, .repeats = 10000};
  const auto refused = prepare(scenario, builtin_catalogs());
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().reason, HasSubstr("10000 repeats"));
}

}  // namespace
}  // namespace lamina::pipeline
