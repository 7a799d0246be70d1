#include <gtest/gtest.h>

#include "sim/requirements/network.hpp"
#include "tests/support/uniform_pipeline.hpp"

namespace lamina::requirements {
namespace {

constexpr double kMessage = 1e9;  ///< bytes
constexpr double kIdeal = 6;      ///< seconds: forward and backward of two stages, one after the other

/// One micro-batch through two stages on two nodes: 1 + 1 + 2 + 2 s of compute and two messages between, nothing
/// hidden.
scenario::Scenario two_nodes(double bandwidth) {
  scenario::Scenario scenario = tests::uniform_pipeline(2, 1, 1);
  scenario.strategy.data_parallel = 4;  // fills a node, so that the two stages stand on two nodes
  scenario.strategy.placement = {scenario::Dimension::kTensor, scenario::Dimension::kData,
                                 scenario::Dimension::kPipeline};
  scenario.cluster.nodes = 2;
  scenario.cluster.network.bandwidth = BytesPerSecond(bandwidth);
  scenario.cluster.network.efficiency = 1;
  scenario.cluster.network.port_latency = Seconds(0);
  scenario.cluster.network.switch_latency = Seconds(0);
  scenario.model.custom->message = Bytes(kMessage);
  scenario.model.custom->parameters = Bytes(0);
  return scenario;
}

NetworkRequirement requirement_of(scenario::Scenario scenario) {
  const pipeline::Catalogs catalogs = pipeline::builtin_catalogs();
  scenario.strategy.schedule = tests::usual_schedule(catalogs, "gpipe");
  const auto result = pipeline::simulate(scenario, catalogs);
  EXPECT_TRUE(result) << result.error().reason;
  return network_requirement(scenario, *result, catalogs);
}

/// 6 s + 2 messages / bandwidth <= 1.05 x 6 s.
constexpr double kExact = 2 * kMessage / (0.05 * kIdeal);

TEST(NetworkRequirement, OfTwoExposedMessagesIsTheClosedForm) {
  for (const double bandwidth : {kExact / 50, kExact / 2, kExact * 2, kExact * 50}) {
    const NetworkRequirement requirement = requirement_of(two_nodes(bandwidth));
    EXPECT_EQ(requirement.verdict, NetworkVerdict::kFound);
    EXPECT_NEAR(requirement.ideal_step_s, kIdeal, 1e-4);
    EXPECT_GE(requirement.bandwidth_bytes_per_s, kExact * (1 - 1e-5)) << bandwidth;
    EXPECT_LE(requirement.bandwidth_bytes_per_s, kExact * 1.03) << bandwidth;
    EXPECT_LE(requirement.replays, 14);
  }
}

TEST(NetworkRequirement, IsTheNominalBandwidthOfAnInefficientPort) {
  scenario::Scenario scenario = two_nodes(kExact);
  scenario.cluster.network.efficiency = 0.5;
  const NetworkRequirement requirement = requirement_of(scenario);
  EXPECT_GE(requirement.bandwidth_bytes_per_s, 2 * kExact * (1 - 1e-5));
  EXPECT_LE(requirement.bandwidth_bytes_per_s, 2 * kExact * 1.03);
}

TEST(NetworkRequirement, CountsTheTimeThatLatencyTakes) {
  scenario::Scenario scenario = two_nodes(kExact);
  scenario.cluster.network.port_latency = Seconds(0.05);  // two of them are a third of the time allowed
  const NetworkRequirement requirement = requirement_of(scenario);
  const double exact = 2 * kMessage / (0.05 * kIdeal - 0.1);
  EXPECT_NEAR(requirement.ideal_step_s, kIdeal, 1e-4);
  EXPECT_GE(requirement.bandwidth_bytes_per_s, exact * (1 - 1e-4));
  EXPECT_LE(requirement.bandwidth_bytes_per_s, exact * 1.03);
}

TEST(NetworkRequirement, CannotBeMetWhenLatencyAloneTakesTooLong) {
  scenario::Scenario scenario = two_nodes(kExact);
  scenario.cluster.network.port_latency = Seconds(0.2);
  EXPECT_EQ(requirement_of(scenario).verdict, NetworkVerdict::kLatencyBound);
}

TEST(NetworkRequirement, IsNoneInsideOneNode) {
  scenario::Scenario scenario = two_nodes(kExact);
  scenario.strategy.data_parallel = 2;
  scenario.cluster.nodes = 1;
  const NetworkRequirement requirement = requirement_of(scenario);
  EXPECT_EQ(requirement.verdict, NetworkVerdict::kNothingSent);
  EXPECT_EQ(requirement.replays, 0);
}

}  // namespace
}  // namespace lamina::requirements
