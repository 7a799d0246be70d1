// What must hold for any scenario: lower bounds, monotonicity, determinism.
#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "sim/pipeline/simulate.hpp"
#include "sim/report/report.hpp"
#include "tests/support/random_scenario.hpp"

namespace lamina {
namespace {

double step_time(const scenario::Scenario& scenario) {
  const auto result = pipeline::simulate(scenario, pipeline::builtin_catalogs());
  EXPECT_TRUE(result.has_value()) << result.error().reason;
  return result->report.step_s;
}

class AnyScenario : public ::testing::TestWithParam<unsigned> {
 protected:
  scenario::Scenario draw() {
    std::mt19937 random(GetParam());
    return tests::random_scenario(random);
  }
};

TEST_P(AnyScenario, TakesAtLeastTheWorkOfItsBusiestRank) {
  const scenario::Scenario scenario = draw();
  const auto result = pipeline::simulate(scenario, pipeline::builtin_catalogs());
  ASSERT_TRUE(result.has_value()) << result.error().reason;
  double busiest = 0;
  for (const graph::Program& program : result->prepared.graph.programs) {
    double work = 0;
    for (const graph::Operation& operation : program.operations) {
      work += operation.kind == graph::OperationKind::kCompute ? operation.duration_s : 0;
    }
    busiest = std::max(busiest, work);
  }
  EXPECT_GE(result->report.step_s, busiest * (1 - 1e-12));
  EXPECT_LE(result->report.efficiency, 1 + 1e-12);
}

TEST_P(AnyScenario, DoesNotGetSlowerOnANetworkThatDoesNotBind) {
  // Max-min sharing has anomalies when flows compete, so the law is stated for a network fast enough not to bind: the
  // step cannot take longer than with the slow one.
  scenario::Scenario slow = draw();
  scenario::Scenario fast = slow;
  fast.cluster.network.bandwidth = BytesPerSecond(1e15);
  fast.cluster.network.port_latency = Seconds(0);
  fast.cluster.network.switch_latency = Seconds(0);
  fast.cluster.node.device_link.bandwidth = BytesPerSecond(1e15);
  fast.cluster.node.device_link.latency = Seconds(0);
  fast.cluster.node.host_path.bandwidth = BytesPerSecond(1e15);
  fast.cluster.node.host_path.latency = Seconds(0);
  EXPECT_LE(step_time(fast), step_time(slow) * (1 + 1e-9));
}

TEST_P(AnyScenario, GivesTheSameBytesTwice) {
  const scenario::Scenario scenario = draw();
  const auto first = pipeline::simulate(scenario, pipeline::builtin_catalogs());
  const auto second = pipeline::simulate(scenario, pipeline::builtin_catalogs());
  ASSERT_TRUE(first.has_value() && second.has_value());
  EXPECT_EQ(report::to_json(first->report), report::to_json(second->report));
}

INSTANTIATE_TEST_SUITE_P(Seeds, AnyScenario, ::testing::Range(101U, 121U));

}  // namespace
}  // namespace lamina
