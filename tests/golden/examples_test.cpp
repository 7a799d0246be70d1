// The examples that the README shows must run, fit, and stay in the band of what such layouts reach in public reports.
#include <filesystem>

#include <gtest/gtest.h>

#include "sim/pipeline/simulate.hpp"
#include "sim/scenario/load.hpp"
#include "tests/support/paths.hpp"

namespace lamina {
namespace {

report::Report replay_example(const std::string& name, scenario::Scenario& scenario) {
  const std::filesystem::path scenarios = tests::source_folder() / "scenarios";
  const pipeline::Catalogs catalogs = pipeline::builtin_catalogs();
  scenario = scenario::load_file(scenarios / name, scenarios, pipeline::plugins_of(catalogs));
  auto result = pipeline::simulate(scenario, catalogs);
  if (!result) {
    throw std::runtime_error(result.error().reason);
  }
  return result->report;
}

TEST(Example, Gpt3OnMegatronsLayoutReachesWhatKorthikantiReports) {
  scenario::Scenario scenario;
  const report::Report report = replay_example("examples/gpt3-175b-megatron.yaml", scenario);
  EXPECT_TRUE(report.fits);
  // arXiv 2205.05198, table 5: 175B with sequence parallelism and selective recomputation reaches 51.4 % model FLOP
  // utilisation (tensor 8 x pipeline 8, interleaved, 64 A100s).
  EXPECT_NEAR(report.model_flop_utilisation, 0.514, 0.06);
}

TEST(Example, Llama70bFullyShardedFitsIntoEveryDevice) {
  scenario::Scenario scenario;
  const report::Report report = replay_example("examples/llama-3-70b-fsdp.yaml", scenario);
  EXPECT_TRUE(report.fits);
  // State of 70.6e9 parameters at 12 bytes over 256 devices.
  const auto state = static_cast<std::size_t>(graph::MemoryCategory::kState);
  EXPECT_NEAR(report.memory.breakdown_bytes[state], 70.55e9 * 12 / 256, 0.01 * 70.55e9 * 12 / 256);
}

TEST(Example, ProfiledStagesComputeWhatWasProfiled) {
  scenario::Scenario scenario;
  const report::Report report = replay_example("examples/profiled-stages.yaml", scenario);
  // 4 layers a rank, 16 micro-batches, 3.1 + 3.3 + 2.9 ms, and the optimizer once a layer.
  EXPECT_NEAR(report.roles.front().times.compute_s, 16 * 4 * 9.3e-3 + 4 * 0.2e-3, 1e-9);
  EXPECT_GT(report.step_s, (16 + 7) * 4 * 9.3e-3);  // the pipeline's bubble of 7 micro-batches
}

double step_of(const scenario::Scenario& scenario) {
  const auto result = pipeline::simulate(scenario, pipeline::builtin_catalogs());
  return result ? result->report.step_s : 0;
}

/// By how much the network between nodes lengthens the step.
double cost_of_network(scenario::Scenario scenario) {
  const double step = step_of(scenario);
  scenario.cluster.network.bandwidth = BytesPerSecond(1e15);
  scenario.cluster.network.port_latency = Seconds(0);
  scenario.cluster.network.switch_latency = Seconds(0);
  return step - step_of(scenario);
}

// Each bad part lengthens the step or leaves it, and most of the job stays folded around them.
TEST(Example, DisturbedClusterIsSlowerAndStillFolds) {
  scenario::Scenario scenario;
  const report::Report report = replay_example("examples/disturbed.yaml", scenario);
  EXPECT_EQ(report.disturbances.size(), 4U);
  EXPECT_TRUE(report.warnings.empty());
  EXPECT_LE(report.simulated_ranks, 512);
  scenario.disturbances = {};
  const double sound = step_of(scenario);
  EXPECT_GT(report.step_s, sound);
  EXPECT_LT(report.step_s, 1.2 * sound);  // no more than if all devices were as slow as the one
}

TEST(Example, ScheduleFromAFileHidesMessagesThatPlain1F1BWaitsFor) {
  scenario::Scenario eager;
  const report::Report report = replay_example("examples/schedule-from-file.yaml", eager);
  EXPECT_TRUE(report.fits);
  EXPECT_EQ(report.schedule, "schedule-from-file.csv");
  scenario::Scenario plain = eager;
  plain.strategy.schedule_file.reset();
  plain.strategy.schedule = {"one_forward_one_backward", {}};
  EXPECT_LT(report.step_s, 0.97 * step_of(plain));
  // Plain 1F1B pays 2 (p - 1) m / p + 2 (p - 2) message times when p divides m (Pipette's hidden critical path), eager
  // 1F1B those of filling and draining only, 2 (p - 1). A message is an activation of 2,048 x 4,096 elements.
  const scenario::Network& network = eager.cluster.network;
  const double message_s = 2.0 * 2048 * 4096 / (network.bandwidth.value() * network.efficiency);
  const double difference = cost_of_network(plain) - cost_of_network(eager);
  EXPECT_NEAR(difference, (16 - 6) * message_s, 0.02 * difference);
}

TEST(Example, DragonflyOfAThousandDevicesHasItsGroupsAndCables) {
  scenario::Scenario scenario;
  const report::Report report = replay_example("examples/dragonfly.yaml", scenario);
  EXPECT_TRUE(report.fits);
  EXPECT_EQ(report.devices, 1024);
  scenario::Scenario thin = scenario;
  thin.cluster.topology.parameters.set_number("global_bandwidth", 0.1);
  EXPECT_GT(step_of(thin), report.step_s);
}

TEST(Example, ReductionsBetweenTwoHallsLoadTheirCablesMoreThanActivations) {
  scenario::Scenario scenario;
  const report::Report report = replay_example("examples/two-halls.yaml", scenario);
  EXPECT_TRUE(report.fits);
  scenario::Scenario torn = scenario;
  torn.strategy.placement = {scenario::Dimension::kTensor, scenario::Dimension::kPipeline, scenario::Dimension::kData};
  const auto across = pipeline::simulate(torn, pipeline::builtin_catalogs());
  ASSERT_TRUE(across.has_value()) << across.error().reason;
  const auto trunk_bytes = [](const report::Report& of) {
    double bytes = 0;
    for (const report::LinkLoad& load : of.links) {
      bytes = load.link_class == fabric::LinkClass::kTrunk ? load.bytes : bytes;
    }
    return bytes;
  };
  EXPECT_GT(trunk_bytes(report), 0);
  EXPECT_GT(trunk_bytes(across->report), trunk_bytes(report));
}

TEST(Example, QuickstartIsThePapersTrillionParameterExample) {
  scenario::Scenario scenario;
  const report::Report report = replay_example("quickstart.yaml", scenario);
  EXPECT_EQ(report.devices, 38640);
  EXPECT_TRUE(report.fits);
  EXPECT_NEAR(report.ideal_compute_s, 8 * 12 * 160.0 * 25600 * 25600 * 2415 * 2560 / (38640 * 312e12), 1e-3);
}

}  // namespace
}  // namespace lamina
