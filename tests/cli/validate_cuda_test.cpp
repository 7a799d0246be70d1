#include <cstdio>
#include <filesystem>
#include <future>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/cli/command.hpp"
#include "tests/support/free_port.hpp"
#include "tests/support/paths.hpp"

namespace lamina::cli_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

using Environment = std::map<std::string, std::string>;

std::filesystem::path build_folder() {
  return std::filesystem::path(tests::command()).parent_path().parent_path();
}

/// The command with a CUDA plug-in whose devices are not there: clocks, in processes of the command.
class ValidateOnFakeCuda : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(build_folder() / "tests/cuda/fake/lamina_cuda.so")) {
      GTEST_SKIP() << "this build has no CUDA back end";
    }
  }

  [[nodiscard]] Outcome validate(std::vector<std::string> arguments, Environment environment) const {
    arguments.insert(arguments.begin(), {"validate", scenario_, "--backend", "cuda"});
    environment.insert({"LAMINA_PLUGINS", (build_folder() / "tests/cuda/fake").string()});
    Invocation invocation;
    invocation.arguments = std::move(arguments);
    invocation.environment = std::move(environment);
    return run(invocation);
  }

  /// The same started by a launcher, rank by rank.
  [[nodiscard]] std::vector<Outcome> launch(const std::vector<Environment>& ranks) const {
    std::vector<std::future<Outcome>> running;
    for (const Environment& environment : ranks) {
      running.push_back(std::async(std::launch::async, [&, environment] { return validate({}, environment); }));
    }
    std::vector<Outcome> outcomes;
    for (auto& rank : running) {
      outcomes.push_back(rank.get());
    }
    return outcomes;
  }

  static Environment rank(int number, const std::string& port) {
    return {{"RANK", std::to_string(number)}, {"WORLD_SIZE", "2"},   {"LOCAL_RANK", std::to_string(number)},
            {"MASTER_ADDR", "127.0.0.1"},     {"LAMINA_PORT", port}, {"LAMINA_FAKE_DEVICES", "2"}};
  }

  TemporaryFolder folder_;
  std::string scenario_ = folder_.file(
      "small.yaml", small_scenario_with("  data_parallel: 2\n  pipeline_parallel: 2\n  tensor_parallel: 2\n",
                                        "  pipeline_parallel: 2\n"));
};

TEST_F(ValidateOnFakeCuda, DrivesAllRanksOnOneDevice) {
  const Outcome outcome = validate({"--format", "json", "--repeat", "2"}, {{"LAMINA_FAKE_DEVICES", "1"}});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto document = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(document.at("backend"), "cuda, one process");
  EXPECT_EQ(document.at("repeats"), 2);
  EXPECT_NEAR(document.at("step").at("error").get<double>(), 0, 1e-5);  // calibrated on the same clocks
  EXPECT_EQ(document.at("reordered"), 0);
}

TEST_F(ValidateOnFakeCuda, HoldsComputeForTheDatesOfTheModel) {
  const Outcome outcome = validate({"--format", "json", "--hold-compute"}, {{"LAMINA_FAKE_DEVICES", "1"}});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NEAR(nlohmann::json::parse(outcome.out).at("step").at("error").get<double>(), 0, 1e-6);
}

TEST_F(ValidateOnFakeCuda, PredictsByTheScenarioWhereAsked) {
  const Outcome outcome = validate({"--format", "json", "--hold-compute", "--calibration", "scenario"},
                                   {{"LAMINA_FAKE_DEVICES", "1"}});  // held to the scenario's own durations
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto document = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(document.at("calibration"), "scenario");
  EXPECT_EQ(document.at("calibration_spread"), 0);
  EXPECT_NEAR(document.at("step").at("error").get<double>(), 0, 1e-6);
  EXPECT_NEAR(document.at("step").at("scenario_error").get<double>(), 0, 1e-6);
}

TEST_F(ValidateOnFakeCuda, StartsAProcessPerDevice) {
  const Outcome outcome = validate({"--format", "json"}, {{"LAMINA_FAKE_DEVICES", "2"}});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto document = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(document.at("backend"), "cuda, a process per GPU");
  EXPECT_GT(document.at("step").at("measured_s").get<double>(), 0);
}

TEST_F(ValidateOnFakeCuda, RunsUnderALauncherAndOneProcessPrints) {
  const std::string port = std::to_string(tests::free_port());
  const std::vector<Outcome> outcomes = launch({rank(0, port), rank(1, port)});
  EXPECT_EQ(outcomes[0].code, 0) << outcomes[0].err;
  EXPECT_THAT(outcomes[0].out, HasSubstr("a process per GPU"));
  EXPECT_EQ(outcomes[1].code, 0) << outcomes[1].err;
  EXPECT_THAT(outcomes[1].out, IsEmpty());
}

TEST_F(ValidateOnFakeCuda, AFaultOfOneRankEndsAll) {
  const std::string port = std::to_string(tests::free_port());
  Environment faulty = rank(1, port);
  faulty.insert({"LAMINA_FAKE_FAULT", "ncclRecv=6"});
  const std::vector<Outcome> outcomes = launch({rank(0, port), faulty});
  EXPECT_EQ(outcomes[0].code, 6);
  EXPECT_THAT(outcomes[0].err, AllOf(HasSubstr("rank 1: validate/cuda/plugin/"), HasSubstr("ncclRecv(")));
  EXPECT_EQ(outcomes[1].code, 6);
}

TEST_F(ValidateOnFakeCuda, AnotherNumberOfProcessesIsRefused) {
  Environment lonely = rank(0, std::to_string(tests::free_port()));
  lonely["WORLD_SIZE"] = "3";
  const Outcome outcome = validate({}, lonely);
  EXPECT_EQ(outcome.code, 6);
  EXPECT_THAT(outcome.err, HasSubstr("3 processes were started for a scenario of 2 ranks"));
}

TEST_F(ValidateOnFakeCuda, FaultsOfTheDeviceHaveCodeSix) {
  const Outcome driver = validate({}, {{"LAMINA_FAKE_FAULT", "cudaGetDeviceCount=35"}});
  EXPECT_EQ(driver.code, 6);
  EXPECT_THAT(driver.err, AllOf(HasSubstr("no CUDA driver"), Not(HasSubstr("rank 0"))));
  const Outcome memory = validate({}, {{"LAMINA_FAKE_DEVICES", "1"}, {"LAMINA_FAKE_MEMORY", "1e6"}});
  EXPECT_EQ(memory.code, 6);
  EXPECT_THAT(memory.err, HasSubstr("out of device memory"));
  const Outcome later = validate({}, {{"LAMINA_FAKE_DEVICES", "1"}, {"LAMINA_FAKE_FAULT", "cudaEventQuery=719"}});
  EXPECT_EQ(later.code, 6);
  EXPECT_THAT(later.err, HasSubstr("cudaEventQuery"));
}

TEST(ValidateCuda, WithoutPluginSaysWhereItLooked) {
  const TemporaryFolder folder;
  Invocation invocation;
  invocation.program = (folder.path() / "lamina").string();  // far from its plug-ins
  std::filesystem::copy_file(tests::command(), invocation.program);
  invocation.arguments = {"validate", folder.file("small.yaml", small_scenario()), "--backend", "cuda"};
  invocation.environment = {{"LAMINA_PLUGINS", folder.path().string()}};
  const Outcome outcome = run(invocation);
  EXPECT_EQ(outcome.code, 6);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("lamina_cuda.so is not in"), HasSubstr(folder.path().string())));
}

TEST(ValidateCuda, WithoutADriverTheRealPluginSaysSo) {
  const TemporaryFolder folder;
  if (!std::filesystem::exists(build_folder() / "lib/lamina/lamina_cuda.so")) {
    GTEST_SKIP() << "this build has no CUDA back end";
  }
  const Outcome outcome = lamina({"validate", folder.file("small.yaml", small_scenario()), "--backend", "cuda"});
  if (outcome.code == 0) {
    GTEST_SKIP() << "there is a GPU";
  }
  EXPECT_EQ(outcome.code, 6);
  EXPECT_THAT(outcome.err, HasSubstr("CUDA d"));  // driver, or device
}

TEST(GpuCheck, SkipsWithCode77WithoutAGpu) {
  Invocation help;
  help.program = (tests::source_folder() / "scripts/gpu-check.sh").string();
  help.arguments = {"--help"};
  const Outcome shown = run(help);
  EXPECT_EQ(shown.code, 0);
  EXPECT_THAT(shown.out, HasSubstr("usage: scripts/gpu-check.sh"));
  const TemporaryFolder folder;
  Invocation check = help;
  check.arguments = {"--carried", build_folder().string(), (folder.path() / "out").string()};
  check.environment = {{"CUDA_VISIBLE_DEVICES", "-1"}};  // also where there is one
  const Outcome skipped = run(check);
  EXPECT_EQ(skipped.code, 77) << skipped.err;
  EXPECT_THAT(skipped.err, HasSubstr("skipped: "));
}

}  // namespace
}  // namespace lamina::cli_test
