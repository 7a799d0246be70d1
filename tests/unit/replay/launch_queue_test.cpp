#include "sim/graph/launch_queue.hpp"

#include <gtest/gtest.h>

#include "sim/pipeline/simulate.hpp"
#include "tests/support/random_scenario.hpp"

namespace lamina {
namespace {

graph::Operation launched(double host_s, bool host_waits) {
  graph::Operation operation;
  operation.host_s = host_s;
  operation.host_waits = host_waits;
  return operation;
}

TEST(LaunchQueue, RunsAheadOfTheDeviceUntilItWaits) {
  graph::LaunchQueue host;
  EXPECT_DOUBLE_EQ(host.launch(launched(1, false), 0), 0);
  EXPECT_DOUBLE_EQ(host.launch(launched(1, false), 10), 1);  // the device is at 10 s, the host at 1 s
  EXPECT_DOUBLE_EQ(host.launch(launched(1, true), 20), 20);
  EXPECT_DOUBLE_EQ(host.launch(launched(1, false), 20.5), 21);
}

int launches(const model::PassCost& pass) {
  int sum = 0;
  for (const model::Kernel& kernel : pass.kernels) {
    sum += kernel.launches;
  }
  return sum;
}

// One rank without an optimizer worth mention: all that takes time is the host, and what the device has left at the
// end.
TEST(LaunchQueue, AStepOfKernelsShorterThanTheirLaunchesTakesAsLongAsTheLaunches) {
  constexpr double kInterval = 0.01;
  scenario::Scenario scenario = tests::small_scenario();
  scenario.simulation.cost_model.parameters.set_number("launch_interval", kInterval);
  scenario.simulation.cost_model.parameters.set_number("backward_launch_interval", 2 * kInterval);
  const auto result = pipeline::simulate(scenario, pipeline::builtin_catalogs());
  ASSERT_TRUE(result.has_value());
  double host_s = 0;
  double longest_s = 0;
  for (const model::BlockCost& block : result->prepared.work.layer.blocks) {
    host_s +=
        kInterval * (launches(block.forward) + 2 * (launches(block.input_gradient) + launches(block.weight_gradient)));
    longest_s += (block.forward.duration + block.input_gradient.duration + block.weight_gradient.duration).value();
  }
  host_s *= scenario.model.layers * scenario.strategy.micro_batches;
  const double update_s = scenario.model.layers * result->prepared.work.layer.update.value();
  EXPECT_GE(result->report.step_s, host_s);
  EXPECT_LE(result->report.step_s, host_s + longest_s + update_s);
}

TEST(LaunchQueue, AFreeHostChangesNothing) {
  scenario::Scenario scenario = tests::small_scenario();
  const double plain = pipeline::simulate(scenario, pipeline::builtin_catalogs())->report.step_s;
  scenario.simulation.cost_model.parameters.set_number("launch_interval", 1e-12);
  scenario.simulation.cost_model.parameters.set_number("backward_launch_interval", 1e-12);
  EXPECT_NEAR(pipeline::simulate(scenario, pipeline::builtin_catalogs())->report.step_s, plain, 1e-8);
}

}  // namespace
}  // namespace lamina
