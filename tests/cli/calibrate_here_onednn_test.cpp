#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "sim/report/text.hpp"
#include "tests/cli/command.hpp"
#include "validate/calibration/read.hpp"
#include "validate/calibration/write.hpp"

/// `lamina calibrate` on the cores of the machine that tests. Times are for people, since it is shared: what is
/// asserted is that everything ran and that a scenario takes the file.
namespace lamina::cli_test {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;

constexpr const char* kScenario = R"(schema_version: 1
hardware: this.yaml
model: x32
cluster:
  node: {base: cpu-core, devices: 2, device_link: this-core, host_path: this-core-file-read, host_memory: 1 TiB}
  nodes: 2
  accelerator: {base: this-core, memory: 1 TiB}
  network: this-core
strategy: {data_parallel: 4, micro_batches: 2}
)";

TEST(CalibrateHere, MeasuresTheCoresAndAScenarioTakesTheFile) {
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "this.yaml").string();
  const Outcome made = lamina({"calibrate", "--seconds", "2", "--scratch", folder.path().string(), "--condition",
                               "date=today", "--format", "json", "-o", file});
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_EQ(folder.names(), std::vector<std::string>{"this.yaml"}) << "the file that was timed is gone";
  const auto document = nlohmann::json::parse(made.out);
  EXPECT_THAT(document.at("conditions").at("software").get<std::string>(), HasSubstr("oneDNN"));
  EXPECT_EQ(document.at("conditions").at("date"), "today");
  std::vector<std::string> hardware;
  for (const auto& entry : document.at("entries")) {
    hardware.push_back(entry.at("hardware"));
    EXPECT_GE(entry.at("fitted").at(0).at("value").get<double>(), 1) << entry;
    EXPECT_GE(entry.at("spread").get<double>(), 0) << entry;
    EXPECT_FALSE(entry.at("table").at("rows").empty()) << entry;
  }
  for (const char* name : {"accelerators.this-core", "device_links.this-core", "device_links.this-core-ring",
                           "host_paths.this-core", "networks.this-core"}) {
    EXPECT_THAT(hardware, Contains(name));
  }
  ASSERT_GE(document.at("measurements").size(), 3U);
  for (const auto& measurement : document.at("measurements")) {
    const auto& table = measurement.at("table");
    ASSERT_FALSE(table.at("rows").empty()) << measurement;
    for (const auto& row : table.at("rows")) {
      ASSERT_EQ(row.size(), table.at("columns").size());
      for (std::size_t i = 0; i < row.size(); ++i) {
        const std::string column = table.at("columns").at(i);
        if (column == "time_s" || column == "samples" || column == "flops_per_s" || column == "beside_s") {
          EXPECT_GT(row.at(i).get<double>(), 0) << column;
        }
      }
    }
  }
  using validate::calibration::read_calibration;
  std::ifstream written(file);
  const std::string text{std::istreambuf_iterator<char>(written), {}};
  EXPECT_EQ(validate::calibration::to_yaml(read_calibration(file)), text);
  const Outcome run = lamina({"run", folder.file("s.yaml", kScenario), "--format", "json"});
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_GT(nlohmann::json::parse(run.out).at("step").at("time_s").get<double>(), 0);
}

TEST(CalibrateHere, TablesFitEightyColumnsAndGoByTheGivenName) {
  const Outcome outcome =
      lamina({"calibrate", "--seconds", "1", "--name", "mine", "--model", "gpt3-175b", "--tensor-parallel", "96"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("accelerators.mine"), HasSubstr("compute_beside_messages"),
                                 HasSubstr("cores"), HasSubstr("load")));
  std::size_t start = 0;
  for (std::size_t end = outcome.out.find('\n'); end != std::string::npos; end = outcome.out.find('\n', start)) {
    const std::string line = outcome.out.substr(start, end - start);
    EXPECT_LE(report::display_width(line), 80U) << line;
    start = end + 1;
  }
}

}  // namespace
}  // namespace lamina::cli_test
