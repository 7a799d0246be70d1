#include "sim/requirements/needs.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "tests/support/uniform_pipeline.hpp"

namespace lamina::requirements {
namespace {

using fabric::LinkClass;
using graph::Traffic;

constexpr double kMessage = 1e9;    ///< bytes
constexpr double kGradients = 4e9;  ///< bytes of each stage
constexpr double kIdeal = 6;        ///< seconds: forward and backward of two stages, one after the other
constexpr double kTolerance = 0.05;
constexpr double kPrecision = 1.031;

/// One micro-batch through two stages on two nodes of four devices: 1 + 1 + 2 + 2 s of compute and two messages
/// between, nothing hidden. Four replicas share a node and its port.
scenario::Scenario two_nodes() {
  scenario::Scenario scenario = tests::uniform_pipeline(2, 1, 1);
  scenario.strategy.data_parallel = 4;
  scenario.strategy.placement = {scenario::Dimension::kTensor, scenario::Dimension::kData,
                                 scenario::Dimension::kPipeline};
  scenario.cluster.nodes = 2;
  scenario.cluster.network.bandwidth = BytesPerSecond(100e9);
  scenario.cluster.network.efficiency = 0.5;
  scenario.cluster.network.port_latency = Seconds(1e-6);
  scenario.cluster.network.switch_latency = Seconds(1e-7);
  scenario.model.custom->message = Bytes(kMessage);
  scenario.model.custom->parameters = Bytes(0);
  return scenario;
}

report::Requirements needs_of(scenario::Scenario scenario, Depth depth = Depth::kTraffic) {
  const pipeline::Catalogs catalogs = pipeline::builtin_catalogs();
  scenario.strategy.schedule = tests::usual_schedule(catalogs, "gpipe");
  const auto result = pipeline::simulate(scenario, catalogs);
  EXPECT_TRUE(result) << result.error().reason;
  return find_needs(scenario, *result, catalogs, kTolerance, depth, [](const std::string&) {});
}

const report::RequirementRow* find(const report::Requirements& needs, LinkClass link_class,
                                   std::optional<Traffic> traffic) {
  const auto found = std::find_if(needs.rows.begin(), needs.rows.end(), [&](const report::RequirementRow& row) {
    return row.link_class == link_class && row.traffic == traffic;
  });
  return found == needs.rows.end() ? nullptr : &*found;
}

double devices_per_port(const scenario::Scenario& scenario) {
  return static_cast<double>(scenario.cluster.node.devices) / scenario.cluster.node.nics;
}

TEST(Needs, OfTwoExposedMessagesAreTheClosedForm) {
  // 6 s + 2 x (messages through a port) / (bandwidth x efficiency) <= 1.05 x 6 s.
  const scenario::Scenario scenario = two_nodes();
  const report::Requirements needs = needs_of(scenario);
  const double exact = 2 * devices_per_port(scenario) * kMessage / (kTolerance * kIdeal) / 0.5;
  for (const auto traffic : {std::optional<Traffic>(), std::optional(Traffic::kPipeline)}) {
    const report::RequirementRow* row = find(needs, LinkClass::kPort, traffic);
    ASSERT_NE(row, nullptr);
    EXPECT_NEAR(row->ideal_step_s, kIdeal, 1e-4);
    ASSERT_TRUE(row->least_bandwidth_bytes_per_s);
    EXPECT_GE(*row->least_bandwidth_bytes_per_s, exact * (1 - 1e-4));
    EXPECT_LE(*row->least_bandwidth_bytes_per_s, exact * kPrecision);
    EXPECT_DOUBLE_EQ(row->bandwidth_bytes_per_s, 100e9);
  }
  EXPECT_EQ(find(needs, LinkClass::kPort, Traffic::kReduce), nullptr);
}

TEST(Needs, LatencyOfTwoMessagesMayTakeTheToleratedTime) {
  const report::Requirements needs = needs_of(two_nodes());
  const double exact = kTolerance * kIdeal / 2;
  for (const LinkClass link_class : {LinkClass::kPort, LinkClass::kTrunk}) {  // one leaf switch on the way
    const report::RequirementRow* row = find(needs, link_class, std::nullopt);
    ASSERT_NE(row, nullptr);
    ASSERT_TRUE(row->most_latency_s);
    EXPECT_LE(*row->most_latency_s, exact * (1 + 1e-4));
    EXPECT_GE(*row->most_latency_s, exact / kPrecision);
  }
  EXPECT_DOUBLE_EQ(find(needs, LinkClass::kPort, std::nullopt)->latency_s, 1e-6);
}

TEST(Needs, OneTrafficClassIsMeasuredWithoutTheOthers) {
  // Gradients inside a node, messages between the nodes: neither counts in the other's rows.
  scenario::Scenario scenario = two_nodes();
  scenario.model.custom->parameters = Bytes(kGradients);
  const report::Requirements needs = needs_of(scenario);
  const report::RequirementRow* messages = find(needs, LinkClass::kPort, Traffic::kPipeline);
  const report::RequirementRow* reductions = find(needs, LinkClass::kDeviceLink, Traffic::kReduce);
  ASSERT_NE(messages, nullptr);
  ASSERT_NE(reductions, nullptr);
  EXPECT_EQ(find(needs, LinkClass::kDeviceLink, Traffic::kPipeline), nullptr);
  EXPECT_EQ(find(needs, LinkClass::kPort, Traffic::kReduce), nullptr);
  // All-reduce of one rank: 2 x 3/4 of the gradients through each device link, after the last backward. Stage 1's hides
  // behind stage 0's backward (2 s), stage 0's behind nothing.
  const double exact = 1.5 * kGradients / (kTolerance * reductions->ideal_step_s);
  ASSERT_TRUE(reductions->least_bandwidth_bytes_per_s);
  EXPECT_GE(*reductions->least_bandwidth_bytes_per_s, exact * (1 - 1e-3));
  EXPECT_LE(*reductions->least_bandwidth_bytes_per_s, exact * kPrecision);
}

TEST(Needs, WarnsOfALinkClassThatNothingUses) {
  const report::Requirements needs = needs_of(two_nodes());
  const auto says = [&](const std::string& words) {
    return std::any_of(needs.warnings.begin(), needs.warnings.end(),
                       [&](const std::string& text) { return text.find(words) != std::string::npos; });
  };
  EXPECT_TRUE(says("Nothing in this layout uses the device link"));
  EXPECT_FALSE(says("uses the port"));
}

TEST(Needs, SensitivityIsWhatTheMessagesGain) {
  const scenario::Scenario scenario = two_nodes();
  const report::Requirements needs = needs_of(scenario);
  const auto port = std::find_if(needs.sensitivities.begin(), needs.sensitivities.end(),
                                 [](const report::Sensitivity& row) { return row.link_class == LinkClass::kPort; });
  ASSERT_NE(port, needs.sensitivities.end());
  EXPECT_TRUE(port->used);
  const double messages = 2 * devices_per_port(scenario) * kMessage / 50e9;
  const double step = kIdeal + messages;
  EXPECT_NEAR(port->half, messages / step, 1e-4);
  EXPECT_NEAR(port->twice, -messages / 2 / step, 1e-4);
  EXPECT_NEAR(port->unlimited, -messages / step, 1e-4);
}

TEST(Needs, OfClassesOnlyHaveNoRowsOfTraffic) {
  const report::Requirements needs = needs_of(two_nodes(), Depth::kClasses);
  EXPECT_TRUE(needs.sensitivities.empty());
  EXPECT_TRUE(std::none_of(needs.rows.begin(), needs.rows.end(),
                           [](const report::RequirementRow& row) { return row.traffic.has_value(); }));
}

TEST(Needs, TrunksThatCannotLimitMayStillBeTooSlow) {
  // One node a leaf, so that the messages of all four replicas cross one bundle of trunks.
  scenario::Scenario scenario = two_nodes();
  ASSERT_EQ(scenario.cluster.topology.name, "fat_tree");
  scenario.cluster.topology.parameters.set_number("nodes_per_leaf", 1);
  const report::Requirements needs = needs_of(scenario, Depth::kClasses);
  const report::RequirementRow* trunk = find(needs, LinkClass::kTrunk, std::nullopt);
  ASSERT_NE(trunk, nullptr);
  const double exact = 2 * 4 * kMessage / (kTolerance * kIdeal);
  ASSERT_TRUE(trunk->least_bandwidth_bytes_per_s);
  EXPECT_GE(*trunk->least_bandwidth_bytes_per_s, exact * (1 - 1e-4));
  EXPECT_LE(*trunk->least_bandwidth_bytes_per_s, exact * kPrecision);
}

}  // namespace
}  // namespace lamina::requirements
