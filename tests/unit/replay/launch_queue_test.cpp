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

/// Seconds of the host for a pass, with `product_s` for each product and `kernel_s` for all else.
double launching(const model::PassCost& pass, double kernel_s, double product_s) {
  double sum = 0;
  for (const model::Kernel& kernel : pass.kernels) {
    const bool product = kernel.kind == model::KernelKind::kMatrixProduct;
    sum += (product ? product_s : kernel_s) + kernel_s * (kernel.launches - 1);
  }
  return sum;
}

// One rank without an optimizer worth mention: all that takes time is the host, and what the device has left at the
// end.
TEST(LaunchQueue, AStepOfKernelsShorterThanTheirLaunchesTakesAsLongAsTheLaunches) {
  constexpr double kInterval = 0.01;
  scenario::Scenario scenario = tests::small_scenario();
  catalog::Parameters& parameters = scenario.simulation.cost_model.parameters;
  parameters.set_number("launch_interval", kInterval);
  parameters.set_number("product_launch_interval", 3 * kInterval);
  parameters.set_number("backward_launch_interval", 2 * kInterval);
  parameters.set_number("backward_product_launch_interval", 5 * kInterval);
  const auto result = pipeline::simulate(scenario, pipeline::builtin_catalogs());
  ASSERT_TRUE(result.has_value());
  double host_s = 0;
  double longest_s = 0;
  for (const model::BlockCost& block : result->prepared.work.layer.blocks) {
    host_s += launching(block.forward, kInterval, 3 * kInterval);
    host_s += launching(block.input_gradient, 2 * kInterval, 5 * kInterval);
    host_s += launching(block.weight_gradient, 2 * kInterval, 5 * kInterval);
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
  for (const char* launch : {"launch_interval", "product_launch_interval", "backward_launch_interval"}) {
    scenario.simulation.cost_model.parameters.set_number(launch, 1e-12);
  }
  EXPECT_NEAR(pipeline::simulate(scenario, pipeline::builtin_catalogs())->report.step_s, plain, 1e-8);
}

}  // namespace
}  // namespace lamina
