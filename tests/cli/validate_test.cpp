#include <filesystem>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/cli/command.hpp"
#include "tests/cli/cores.hpp"
#include "tests/support/paths.hpp"

namespace lamina::cli_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

Outcome validate(const std::string& scenario, std::vector<std::string> arguments) {
  const TemporaryFolder folder;
  arguments.insert(arguments.begin(), {"validate", folder.file("small.yaml", scenario)});
  return lamina(arguments);
}

TEST(Validate, ShowsThreeComparisons) {
  const Outcome outcome = validate(small_scenario(), {"--repeat", "3"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, IsEmpty());
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("measured"), HasSubstr("predicted"), HasSubstr("with measured kernels"),
                                 HasSubstr("By kind of operation"), HasSubstr("3 repeats")));
}

TEST(Validate, WritesReportsAndBothTimelines) {
  const TemporaryFolder folder;
  const std::filesystem::path output = folder.path() / "out";
  const Outcome outcome = lamina({"validate", folder.file("small.yaml", small_scenario()), "-o", output.string()});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(nlohmann::json::parse(read_file(output / "validation.json")).at("schema"), "lamina.validation/1");
  EXPECT_EQ(read_file(output / "validation.txt"), outcome.out);
  const std::string trace = read_file(output / "validation.perfetto-trace");
  EXPECT_THAT(trace, AllOf(HasSubstr("predicted: pipeline rank 0"), HasSubstr("measured: pipeline rank 0")));
}

TEST(Validate, VirtualDevicesAreThoseOfTheReplayWithoutContention) {
  const Outcome outcome =
      validate(small_scenario(), {"--format", "json", "--set", "simulation.transport=no_contention"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto document = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(document.at("schema"), "lamina.validation/1");
  EXPECT_EQ(document.at("backend"), "virtual");
  EXPECT_NEAR(document.at("step").at("error").get<double>(), 0, 1e-9);
  EXPECT_EQ(document.at("reordered"), 0);
}

TEST(Validate, TellsContentionByTheToleranceWithCodeFive) {
  // Four replicas share one slow port with the messages of the pipeline: the replay shares it, virtual devices do not.
  const std::vector<std::string> crowded = {"--set", "cluster.nodes=2",
                                            "--set", "cluster.node.nics=1",
                                            "--set", "dp=4",
                                            "--set", "strategy.placement=[tensor, data, pipeline]",
                                            "--set", "cluster.network.bandwidth=100 Mbit/s"};
  std::vector<std::string> strict = crowded;
  strict.insert(strict.end(), {"--tolerance", "0.001"});
  const Outcome outside = validate(small_scenario(), strict);
  EXPECT_EQ(outside.code, 5) << outside.out;
  EXPECT_THAT(outside.err, HasSubstr("outside tolerance"));
  EXPECT_THAT(outside.out, HasSubstr("Virtual devices know no contention"));
  std::vector<std::string> wide = crowded;
  wide.insert(wide.end(), {"--tolerance", "1000"});
  EXPECT_EQ(validate(small_scenario(), wide).code, 0);
}

TEST(Validate, NumbersOfAScheduleFromAFileAreThoseOfOneDevice) {
  const std::string file = (tests::source_folder() / "scenarios/examples/schedule-from-file.yaml").string();
  const Outcome outcome = lamina({"validate", file, "--backend", "numeric", "--format", "json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto document = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(document.at("schema"), "lamina.step_check/1");
  EXPECT_EQ(document.at("same"), true);
  EXPECT_EQ(document.at("orders"), 3);
  EXPECT_TRUE(document.at("transport").is_null());  // one process
  EXPECT_GT(document.at("loss").get<double>(), 0);
  EXPECT_GT(document.at("errors").at("gradients").get<double>(), 0);  // float32 is not double
  EXPECT_LT(document.at("errors").at("gradients").get<double>(), 1e-5);
}

TEST(Validate, NumbersAreComputedForTheScenariosOwnStrategy) {
  const Outcome outcome = validate(small_scenario(), {"--backend", "numeric", "--repeat", "2", "--set",
                                                      "strategy.sharding=full", "--set", "strategy.micro_batches=3"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("3 micro-batches"), HasSubstr("in 2 orders"), HasSubstr("updated weights")));
}

TEST(Validate, WritesJsonAndText) {
  const TemporaryFolder folder;
  const std::string out = (folder.path() / "out").string();
  const Outcome outcome = lamina({"validate", folder.file("small.yaml", small_scenario()), "-o", out});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(read_file(out + "/validation.json"), HasSubstr("lamina.validation/1"));
  EXPECT_THAT(read_file(out + "/validation.txt"), HasSubstr("By pipeline rank"));
}

TEST(Validate, GivesTheSameBytesTwice) {
  EXPECT_EQ(validate(small_scenario(), {"--format", "json"}).out, validate(small_scenario(), {"--format", "json"}).out);
}

TEST(Validate, NumbersOverSocketsAreThoseOfOneDevice) {
  const Outcome outcome =
      validate(small_scenario(), {"--backend", "numeric", "--transport", "tcp", "--repeat", "2", "--format", "json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto document = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(document.at("schema"), "lamina.step_check/1");
  EXPECT_EQ(document.at("transport"), "TCP on loopback");
  EXPECT_EQ(document.at("same"), true);
  EXPECT_EQ(document.at("orders"), 2);
}

struct BadUse {
  std::vector<std::string> arguments;
  int code;
  const char* message;
};

/// Found by the test framework: the name of a case instead of its bytes.
void PrintTo(const BadUse& use, std::ostream* out) {
  for (const std::string& argument : use.arguments) {
    *out << argument << ' ';
  }
}

class BadValidate : public testing::TestWithParam<BadUse> {};

TEST_P(BadValidate, IsRefusedWithTheReason) {
  const Outcome outcome = validate(small_scenario(), GetParam().arguments);
  EXPECT_EQ(outcome.code, GetParam().code) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr(GetParam().message));
  EXPECT_THAT(outcome.out, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(
    Uses, BadValidate,
    testing::Values(BadUse{{"--backend", "gpu"}, 2, "--backend"},
                    BadUse{{"--backend", "numeric", "--tolerance", "1"}, 2, "step times"},
                    BadUse{{"--backend", "numeric", "--set", "dp=1", "--set", "tp=1", "--set", "pp=2", "--set",
                            "strategy.schedule=dual_pipe", "--set", "strategy.micro_batches=4"},
                           4,
                           "copies of the model"},
                    BadUse{{"--engine", "openblas"}, 2, "--backend cpu"},
                    BadUse{{"--transport", "tcp"}, 2, "--backend cpu and numeric"},
                    BadUse{{"--backend", "cpu", "--transport", "none"}, 2, "--backend numeric"},
                    BadUse{{"--offload-to", "/"}, 2, "--backend cpu"},
                    BadUse{{"--backend", "cpu", "--engine", "mkl"}, 2, "--engine"},
                    BadUse{{"--repeat", "0"}, 2, "--repeat"}, BadUse{{"--repeat", "many"}, 2, "--repeat"},
                    BadUse{{"--tolerance", "-1"}, 2, "--tolerance"}, BadUse{{"--tolerance", "nan"}, 2, "--tolerance"},
                    BadUse{{"--format", "xml"}, 2, "--format"}, BadUse{{"--set", "tp=three"}, 3, "three"},
                    BadUse{{"--set", "simulation.collectives.form=message"}, 4, "fluid form"},
                    BadUse{{"-o", "/dev/null/x"}, 6, "/dev/null"}));

TEST(ValidateOnCores, OpenBlasRefusesBf16AndSaysWhatToSet) {
  const Outcome refused = run_small_on_cores({"--engine", "openblas"});
  EXPECT_EQ(refused.code, 4) << refused.out;
  EXPECT_THAT(refused.err, AllOf(HasSubstr("OpenBLAS"), HasSubstr("strategy.precision.compute"), HasSubstr("onednn")));
}

TEST(ValidateOnCores, RefusesWhatCoresCannotRun) {
  const std::vector<std::pair<std::string, std::string>> refused = {
      {"strategy.precision.compute=fp16", "bf16 and fp32 only"}, {"dp=4096", "at most"}};
  for (const auto& [change, why] : refused) {
    const Outcome outcome = lamina({"validate", two_cores(), "--backend", "cpu", "--set", "cluster.nodes=8192", "--set",
                                    "cluster.node.accelerator.peak.fp16=1TFLOP/s", "--set", change});
    EXPECT_EQ(outcome.code, 4) << outcome.out << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(why));
  }
}

TEST(ValidateOnCores, SaysWhereThePlugInIsMissing) {
  const TemporaryFolder folder;
  Invocation invocation;
  invocation.program = (folder.path() / "lamina").string();
  std::filesystem::copy_file(tests::command(), invocation.program);
  invocation.arguments = {"validate", two_cores(), "--backend", "cpu"};
  invocation.environment = {{"LAMINA_CATALOGUE", (tests::source_folder() / "scenarios").string()}};
  const Outcome outcome = run(invocation);
  EXPECT_EQ(outcome.code, 6) << outcome.out;
  EXPECT_THAT(outcome.err, HasSubstr("lamina_onednn.so is not in"));
}

TEST(ValidateOnCores, RefusesAScenariosCalibrationWhereNothingIsMeasured) {
  for (const char* backend : {"virtual", "numeric"}) {
    const Outcome outcome = lamina(on_two_cores({"validate", "--backend", backend}, {"--calibration", "scenario"}));
    EXPECT_EQ(outcome.code, 2) << outcome.out;
    EXPECT_THAT(outcome.err, HasSubstr("--calibration scenario is for --backend cpu and cuda"));
    EXPECT_THAT(outcome.out, IsEmpty());
  }
  EXPECT_EQ(run_small_on_cores({"--calibration", "guess"}).code, 2);
}

}  // namespace
}  // namespace lamina::cli_test
