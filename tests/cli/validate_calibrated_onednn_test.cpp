#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/cli/command.hpp"
#include "tests/cli/cores.hpp"

/// The whole way: `lamina calibrate` measures cores, a scenario names what it found, `lamina validate` holds what
/// `lamina run` predicts from it against an execution. The machine that tests is shared, so that no time is judged.
namespace lamina::cli_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kScenario = R"(schema_version: 1
hardware: this.yaml
model: {layers: 4, hidden: 128, sequence_length: 64, heads: 4, head_size: 32, feed_forward: 512, vocabulary: 0}
cluster:
  node: {base: cpu-core, device_link: this-core, host_path: this-core}
  accelerator: this-core
  network: this-core
  nodes: 2
strategy: {pipeline_parallel: 2, micro_batches: 2}
)";

nlohmann::json parsed(const Outcome& outcome) {
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  return nlohmann::json::parse(outcome.out, nullptr, false);
}

TEST(ValidateCalibrated, JudgesWhatRunPredictsFromTheCalibrationThatTheScenarioNames) {
  const TemporaryFolder folder;
  const std::string hardware = (folder.path() / "this.yaml").string();
  const Outcome made = lamina({"calibrate", "--seconds", "1", "--scratch", folder.path().string(), "-o", hardware});
  ASSERT_EQ(made.code, 0) << made.err;
  const std::string file = folder.file("mine.yaml", kScenario);
  const auto printed = parsed(lamina({"run", file, "--format", "json"}));
  const auto judged = parsed(
      lamina({"validate", file, "--backend", "cpu", "--calibration", "scenario", "--repeat", "1", "--format", "json"}));
  EXPECT_EQ(judged.at("schema"), "lamina.validation/1");
  EXPECT_EQ(judged.at("calibration"), "scenario");
  EXPECT_EQ(judged.at("calibration_spread"), 0) << "nothing was calibrated";
  const auto& step = judged.at("step");
  EXPECT_EQ(step.at("scenario_s"), printed.at("step").at("time_s"));
  const double measured = step.at("measured_s").get<double>();
  EXPECT_GT(measured, 0);
  EXPECT_NEAR(step.at("scenario_error").get<double>(), step.at("scenario_s").get<double>() / measured - 1, 1e-6);
  // The one collective, of two ranks and 4 bytes, takes as long in the executor's messages as in run's closed form.
  EXPECT_NEAR(step.at("predicted_s").get<double>() / step.at("scenario_s").get<double>(), 1, 1e-6);
  ASSERT_FALSE(judged.at("durations").empty());
  for (const auto& row : judged.at("durations")) {
    EXPECT_EQ(row.at("scenario_s"), row.at("predicted_s")) << row;
  }
}

Outcome validate(const std::vector<std::string>& more) {
  return lamina(on_two_cores({"validate", "--backend", "cpu", "--repeat", "1"}, more));
}

TEST(ValidateCalibrated, ShowsWhatRunPredictsBesideTheCalibratedPrediction) {
  const std::vector<std::string> sharded = {"--set",    "pp=1", "--set", "dp=2", "--set", "strategy.sharding=full",
                                            "--format", "json"};
  const auto document = parsed(validate(sharded));
  const auto printed = parsed(lamina(on_two_cores({"run"}, sharded)));
  EXPECT_EQ(document.at("calibration"), "measure");
  EXPECT_EQ(document.at("step").at("scenario_s"), printed.at("step").at("time_s"))
      << "collectives as run has them, not as the rings of the executor";
  EXPECT_NE(document.at("step").at("predicted_s"), document.at("step").at("scenario_s"));
}

TEST(ValidateCalibrated, SaysThatNothingWasCalibratedAndJudgesTheScenario) {
  // Cores a million times faster than any: the model that is judged must be the scenario's.
  const Outcome outcome = validate({"--calibration", "scenario", "--tolerance", "20", "--set",
                                    "cluster.node.accelerator.peak.bf16=1e18 FLOP/s", "--set",
                                    "cluster.node.accelerator.memory_bandwidth=1e18 B/s"});
  EXPECT_EQ(outcome.code, 5) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("Not calibrated"), HasSubstr("as lamina run predicts"),
                                 Not(HasSubstr("Calibrated kernels"))));
}

}  // namespace
}  // namespace lamina::cli_test
