#include <cmath>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/error/error.hpp"
#include "sim/metrics/reference.hpp"

namespace lamina::metrics {
namespace {

scenario::Scenario with_reference(const std::string& name, double value, double tolerance) {
  scenario::Scenario scenario;
  scenario.file = "example.yaml";
  scenario.reference.emplace();
  scenario::ReferenceValue each;
  each.name = name;
  each.value = value;
  each.tolerance = tolerance;
  scenario.reference->values.push_back(each);
  return scenario;
}

TEST(ReferenceRows, HoldTheNamesThatScriptsUse) {
  const std::vector<std::string> names = reference_names();
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size()) << "a name twice";
  EXPECT_THAT(names, ::testing::IsSupersetOf(
                         {"cluster.devices", "step.time_s", "step.efficiency", "step.model_flop_utilisation",
                          "step.hardware_flop_utilisation", "step.bubble_makespan_fraction", "step.exposed_s.pipeline",
                          "step.exposed_s.reduce", "step.exposed_s.restore", "step.exposed_s.tensor",
                          "step.exposed_s.offload", "throughput.tokens_per_s", "memory.peak_bytes",
                          "memory.capacity_bytes", "memory.breakdown_bytes.state", "memory.breakdown_bytes.working_set",
                          "training.days", "replay.activities"}));
}

TEST(ReferenceRows, LookValuesUpInTheReport) {
  report::Report report;
  report.step_s = 3;
  report.efficiency = 0.5;
  report.critical_role_times.exposed_s[static_cast<std::size_t>(graph::Traffic::kReduce)] = 0.25;
  report.memory.breakdown_bytes[static_cast<std::size_t>(graph::MemoryCategory::kCheckpoints)] = 42;
  report.activities = 17;
  EXPECT_DOUBLE_EQ(value_of(report, "step.time_s").value(), 3);
  EXPECT_DOUBLE_EQ(value_of(report, "step.efficiency").value(), 0.5);
  EXPECT_DOUBLE_EQ(value_of(report, "step.exposed_s.reduce").value(), 0.25);
  EXPECT_DOUBLE_EQ(value_of(report, "memory.breakdown_bytes.checkpoints").value(), 42);
  EXPECT_DOUBLE_EQ(value_of(report, "replay.activities").value(), 17);
  EXPECT_TRUE(std::isnan(value_of(report, "memory.last_rank_peak_bytes").value()));
  report.roles.resize(3);
  report.roles[1].memory.peak_bytes = 200;
  report.roles[2].memory.peak_bytes = 100;
  EXPECT_DOUBLE_EQ(value_of(report, "memory.last_rank_peak_bytes").value(), 100);
  EXPECT_TRUE(std::isnan(value_of(report, "training.days").value()));
  report.training.emplace().days = 6.5;
  EXPECT_DOUBLE_EQ(value_of(report, "training.days").value(), 6.5);
  EXPECT_FALSE(value_of(report, "step.tme_s").has_value());
}

TEST(ReferenceRows, AgreeWithinTheTolerance) {
  report::Report report;
  report.efficiency = 0.91;
  const auto near = reference_rows(with_reference("step.efficiency", 0.9, 0.02), report).at(0);
  EXPECT_NEAR(near.relative_difference, 0.01 / 0.9, 1e-12);
  EXPECT_DOUBLE_EQ(near.measured, 0.91);
  EXPECT_TRUE(near.agrees);
  EXPECT_FALSE(reference_rows(with_reference("step.efficiency", 0.9, 0.01), report).at(0).agrees);
}

TEST(ReferenceRows, AgreeWithAStatedDifferenceToOnePercent) {
  report::Report report;
  report.efficiency = 0.8;
  scenario::Scenario scenario = with_reference("step.efficiency", 1.0, 0.02);
  scenario.reference->values[0].expected_difference = -0.195;
  EXPECT_TRUE(reference_rows(scenario, report).at(0).agrees);
  scenario.reference->values[0].expected_difference = -0.215;
  EXPECT_FALSE(reference_rows(scenario, report).at(0).agrees);
}

TEST(ReferenceRows, DoNotAgreeWithAnUnknownValue) {
  report::Report report;
  report.model_flop_utilisation = std::nan("");
  EXPECT_FALSE(reference_rows(with_reference("step.model_flop_utilisation", 0.5, 1e9), report).at(0).agrees);
}

TEST(ReferenceRows, CompareWithZero) {
  report::Report report;
  EXPECT_TRUE(reference_rows(with_reference("step.bubble_makespan_fraction", 0, 0), report).at(0).agrees);
  report.bubble_makespan_fraction = 0.1;
  EXPECT_FALSE(reference_rows(with_reference("step.bubble_makespan_fraction", 0, 0.5), report).at(0).agrees);
}

TEST(ReferenceRows, RefuseAnUnknownNameAndListTheAllowedOnes) {
  try {
    check_reference(with_reference("step.eficiency", 1, 0.1));
    FAIL() << "nothing thrown";
  } catch (const error::ScenarioError& fault) {
    EXPECT_EQ(fault.fault().location.file, "example.yaml");
    EXPECT_EQ(fault.fault().nearest, "step.efficiency");
    EXPECT_THAT(fault.fault().allowed, ::testing::HasSubstr("training.days"));
  }
}

TEST(ReferenceRows, RefuseTrainingDaysWithoutATrainingSection) {
  scenario::Scenario scenario = with_reference("training.days", 7, 0.1);
  EXPECT_THROW(check_reference(scenario), error::ScenarioError);
  scenario.training.emplace();
  EXPECT_NO_THROW(check_reference(scenario));
}

}  // namespace
}  // namespace lamina::metrics
