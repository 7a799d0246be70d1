#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "sim/report/text.hpp"
#include "tests/cli/command.hpp"
#include "tests/support/paths.hpp"

namespace lamina::cli_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

/// 8 ranks on one node: 14 hops of 2 us and 1.75 x bytes at 175 GB/s, that is 28 us + bytes / 100 GB/s.
constexpr const char* kOneNode = R"(# collective=all_reduce ranks=8 nodes=1
size_bytes,time_us
8,28
1024,28.01024
32768,28.32768
1048576,38.48576
33554432,363.54432
1073741824,10765.41824
)";

/// 16 ranks on two nodes: 30 hops of 3 us and 1.875 x bytes at 8 x 20 GB/s.
constexpr const char* kTwoNodes = R"(# collective=all_reduce ranks=16 nodes=2
size_bytes,time_us
8,90
1024,90.012
32768,90.384
1048576,102.288
33554432,483.216
1073741824,12672.912
)";

constexpr const char* kProducts = R"(device,dtype,m,n,k,tflops
NVIDIA H100 80GB HBM3,bf16,8192,8192,8192,700
NVIDIA H100 80GB HBM3,bf16,4096,8192,8192,690
NVIDIA H100 80GB HBM3,bf16,8192,4096,4096,650
)";

constexpr const char* kScenario = R"(schema_version: 1
hardware: mine.yaml
model: x32
cluster: {node: {base: dgx-h100, device_link: mine}, nodes: 2, network: mine, accelerator: mine}
strategy: {data_parallel: 16, micro_batches: 2}
)";

TEST(Calibrate, MakesHardwareThatAScenarioRunsOn) {
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "mine.yaml").string();
  const Outcome made = lamina(
      {"calibrate", "--from-nccl-tests", folder.file("one.csv", kOneNode), folder.file("two.csv", kTwoNodes),
       "--from-gemm-table", folder.file("gemm.csv", kProducts), "--nics-per-node", "8", "--name", "mine", "-o", file});
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_THAT(made.out, AllOf(HasSubstr("device_links.mine"), HasSubstr("175 GB/s"), HasSubstr("2 us"),
                              HasSubstr("networks.mine"), HasSubstr("20 GB/s"), HasSubstr("24 us"),
                              HasSubstr("accelerators.mine"), HasSubstr("matrix_efficiency")));
  const Outcome run = lamina({"run", folder.file("s.yaml", kScenario), "--format", "json"});
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, AllOf(HasSubstr("matrix_efficiency"), HasSubstr("mine")));
  // A slower network from the same command makes the step longer: it is the one that the run used.
  const auto step = [&](const char* ports) {
    const Outcome again =
        lamina({"calibrate", "--from-nccl-tests", folder.file("two.csv", kTwoNodes), "--nics-per-node", ports, "--name",
                "mine", "-o", (folder.path() / "net.yaml").string()});
    EXPECT_EQ(again.code, 0) << again.err;
    const Outcome replayed = lamina({"run",
                                     folder.file("n.yaml",
                                                 "schema_version: 1\nmodel: x32\ncluster: {node: dgx-h100, nodes: 2, "
                                                 "network: mine}\nstrategy: {data_parallel: 16, micro_batches: 1}\n"),
                                     "--set", "hardware=" + (folder.path() / "net.yaml").string(), "--format", "json"});
    EXPECT_EQ(replayed.code, 0) << replayed.err;
    return nlohmann::json::parse(replayed.out).at("step").at("time_s").get<double>();
  };
  EXPECT_GT(step("64"), 1.02 * step("8"));
}

TEST(Calibrate, WritesTheSameBytesEveryTimeInThreeForms) {
  const TemporaryFolder folder;
  const std::string input = folder.file("one.csv", kOneNode);
  for (const char* format : {"console", "yaml", "json"}) {
    const Outcome first = lamina({"calibrate", "--from-nccl-tests", input, "--format", format});
    EXPECT_EQ(first.code, 0) << first.err;
    EXPECT_THAT(first.err, IsEmpty());
    EXPECT_EQ(first.out, lamina({"calibrate", "--from-nccl-tests", input, "--format", format}).out);
  }
  const Outcome json =
      lamina({"calibrate", "--from-nccl-tests", input, "--format", "json", "--condition", "clock=1.4 GHz"});
  const auto document = nlohmann::json::parse(json.out);
  EXPECT_EQ(document.at("schema"), "lamina.calibration/1");
  EXPECT_EQ(document.at("conditions").at("clock"), "1.4 GHz");
  EXPECT_NEAR(document.at("entries").at(0).at("fitted").at(0).at("value").get<double>(), 175e9, 1e5);
  EXPECT_EQ(document.at("entries").at(0).at("table").at("rows").size(), 6U);
}

TEST(Calibrate, ConsoleFitsEightyColumns) {
  const TemporaryFolder folder;
  const Outcome outcome = lamina({"calibrate", "--from-nccl-tests", folder.file("one.csv", kOneNode),
                                  "--from-gemm-table", folder.file("gemm.csv", kProducts)});
  std::size_t start = 0;
  for (std::size_t end = outcome.out.find('\n'); end != std::string::npos; end = outcome.out.find('\n', start)) {
    const std::string line = outcome.out.substr(start, end - start);
    EXPECT_LE(report::display_width(line), 80U) << line;
    start = end + 1;
  }
}

TEST(Calibrate, RefusesABadLineWithItsPlaceAndCodeThree) {
  const TemporaryFolder folder;
  const std::string log = folder.file("bad.log", "all_reduce_perf\n# algbw\n 8 2 float sum -1 0.00 0 0 0 1 0 0 0\n");
  const Outcome outcome = lamina({"calibrate", "--from-nccl-tests", log});
  EXPECT_EQ(outcome.code, 3);
  EXPECT_THAT(outcome.out, IsEmpty());
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("bad.log:3:19: "), HasSubstr("more than zero"), HasSubstr("0.00")));
  EXPECT_EQ(lamina({"calibrate", "--from-nccl-tests", "no-such.log"}).code, 3);
  EXPECT_EQ(lamina({"calibrate", "--from-gemm-table", folder.file("x.csv", std::string("\0\1\2", 3))}).code, 3);
}

TEST(Calibrate, RefusesArgumentsThatMakeNoSenseWithCodeTwo) {
  const TemporaryFolder folder;
  const std::string input = folder.file("one.csv", kOneNode);
  const auto refused = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"calibrate", "--from-nccl-tests", input});
    const Outcome outcome = lamina(more);
    EXPECT_EQ(outcome.code, 2) << outcome.err;
    return outcome.err;
  };
  EXPECT_THAT(lamina({"calibrate", "--ranks", "8"}).err, HasSubstr("--from-nccl-tests LOG"));
  EXPECT_THAT(refused({"--seconds", "5"}), HasSubstr("--seconds"));
  EXPECT_THAT(refused({"--select", "ranks"}), HasSubstr("KEY=TEXT"));
  EXPECT_THAT(refused({"--condition", "clok=1"}), HasSubstr("did you mean \"clock\"?"));
  EXPECT_THAT(refused({"--collective", "all_to_some"}), HasSubstr("alltoall"));
  EXPECT_THAT(refused({"--peak", "312"}), HasSubstr("312 TFLOP/s"));
  EXPECT_THAT(refused({"--name", "Mine 1"}), HasSubstr("\"mine-1\""));
  EXPECT_THAT(refused({"-o", "mine.txt"}), HasSubstr(".yaml or .json"));
  EXPECT_THAT(refused({"-o", "."}), HasSubstr(".yaml or .json"));
  EXPECT_THAT(refused({"--ranks", "1"}), HasSubstr("ranks"));
  const std::string yaml = folder.file("in.yaml", kOneNode);
  EXPECT_EQ(lamina({"calibrate", "--from-nccl-tests", yaml, "-o", yaml}).code, 2) << "would replace its input";
}

TEST(Calibrate, ASelectionThatFitsNothingShowsWhatThereIs) {
  const TemporaryFolder folder;
  const Outcome outcome =
      lamina({"calibrate", "--from-nccl-tests", folder.file("one.csv", kOneNode), "--select", "ranks=4"});
  EXPECT_EQ(outcome.code, 3);
  EXPECT_THAT(outcome.err, HasSubstr("collective=all_reduce ranks=8 nodes=1"));
}

TEST(Calibrate, ARackMayBeOneDeviceLink) {
  const TemporaryFolder folder;
  const Outcome outcome =
      lamina({"calibrate", "--from-nccl-tests", folder.file("two.csv", kTwoNodes), "--as", "device_link"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("device_links.two"));
}

}  // namespace
}  // namespace lamina::cli_test
