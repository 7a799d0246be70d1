#include <cstdlib>
#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/scenario/loader.hpp"
#include "tests/unit/scenario/scenario_fixture.hpp"

namespace lamina::scenario {
namespace {

using testing::HasSubstr;

constexpr const char* kHardware = R"(accelerators:
  fast: {base: h100-sxm, memory: 96 GiB, cost_model: {name: ideal, fraction_of_peak: 0.5}}
networks:
  wire: {bandwidth: 10 GB/s, port_latency: 4 us, switch_latency: 0 us}
calibration: {anything: [1, 2]}
)";

/// A folder with a hardware file and a scenario beside it, which goes away.
class ScenarioHardware : public testing::Test {
 protected:
  ScenarioHardware() {
    std::string name = (std::filesystem::temp_directory_path() / "lamina-hardware-XXXXXX").string();
    folder_ = mkdtemp(name.data());
    write("mine.yaml", kHardware);
  }

  ~ScenarioHardware() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  void write(const std::string& name, const std::string& text) const { std::ofstream(folder_ / name) << text; }

  [[nodiscard]] Scenario loaded(const std::string& hardware, const std::string& more = "",
                                const std::vector<Override>& overrides = {}) const {
    return load_text(text(hardware, more), folder_ / "s.yaml", source_catalogue(), test_plugins(), overrides);
  }

  [[nodiscard]] static std::string text(const std::string& hardware, const std::string& more = "") {
    return "schema_version: 1\nmodel: x32\n" + (hardware.empty() ? "" : "hardware: " + hardware + "\n") +
           "cluster: {node: dgx-h100, accelerator: fast, network: wire, nodes: 2}\nstrategy: {data_parallel: 16, "
           "micro_batches: 1}\n" +
           more;
  }

  std::filesystem::path folder_;
};

TEST_F(ScenarioHardware, IsNamedLikeTheCatalogues) {
  const Scenario scenario = loaded("mine.yaml");
  EXPECT_EQ(scenario.cluster.network.name, "wire");
  EXPECT_DOUBLE_EQ(scenario.cluster.network.bandwidth.value(), 10e9);
  EXPECT_EQ(scenario.cluster.node.accelerator.name, "fast");
  EXPECT_DOUBLE_EQ(scenario.cluster.node.accelerator.memory.value(), 96.0 * (1 << 30));
  EXPECT_EQ(scenario.cluster.node.accelerator.multiprocessors, 132) << "of its base, in the catalogue";
}

TEST_F(ScenarioHardware, MayBeAListAndComeFromTheCommandLine) {
  write("more.yaml", "networks: {other: {base: infiniband-hdr, name: other}}\n");
  EXPECT_EQ(loaded("[mine.yaml, more.yaml]", "", {{"cluster.network", "other"}}).cluster.network.name, "other");
  const std::string path = (folder_ / "mine.yaml").string();
  EXPECT_EQ(loaded("", "", {{"hardware", path}}).cluster.network.name, "wire");
}

TEST_F(ScenarioHardware, CostModelOfTheAcceleratorIsTheDefault) {
  const Scenario measured = loaded("mine.yaml");
  EXPECT_EQ(measured.simulation.cost_model.name, "ideal");
  EXPECT_DOUBLE_EQ(measured.simulation.cost_model.parameters.number("fraction_of_peak"), 0.5);
  EXPECT_EQ(loaded("mine.yaml", "simulation: {cost_model: roofline}\n").simulation.cost_model.name, "roofline");
  EXPECT_EQ(loaded("mine.yaml", "simulation: {fold: false}\n").simulation.cost_model.name, "ideal");
  EXPECT_EQ(loaded("mine.yaml", "", {{"cluster.accelerator", "h100-sxm"}}).simulation.cost_model.name, "roofline")
      << "an accelerator without one";
}

TEST_F(ScenarioHardware, CostModelOfTheAcceleratorIsChecked) {
  const auto fault = fault_when([&] {
    (void)loaded("mine.yaml", "",
                 {{"cluster.accelerator", "{base: h100-sxm, cost_model: {name: ideal, fraction: 1}}"}});
  });
  EXPECT_EQ(fault.key, "simulation.cost_model.fraction");
}

TEST_F(ScenarioHardware, FaultsAreReportedInTheFile) {
  const auto fault_of = [&](const std::string& text) {
    write("bad.yaml", text);
    return fault_when([&] { (void)loaded("[mine.yaml, bad.yaml]"); });
  };
  const auto kind = fault_of("network:\n  x: {bandwidth: 1 GB/s}\n");
  EXPECT_THAT(kind.location.file, HasSubstr("bad.yaml"));
  EXPECT_EQ(kind.location.line, 1);
  EXPECT_EQ(kind.nearest, "networks");
  EXPECT_THAT(fault_of("networks: {wire: {base: infiniband-hdr}}\n").problem, HasSubstr("two entries of this name"));
  EXPECT_THAT(fault_of("networks: {infiniband-hdr: {base: infiniband-ndr}}\n").problem, HasSubstr("two entries"));
  EXPECT_THAT(fault_of("models: {m: {layers: 1}}\n").allowed, HasSubstr("networks"));
  EXPECT_THAT(fault_of("- a\n").problem, HasSubstr("mapping"));
}

TEST_F(ScenarioHardware, ThatIsNotThereIsRefused) {
  const auto missing = fault_when([&] { (void)loaded("mime.yaml"); });
  EXPECT_THAT(missing.problem, HasSubstr("no such file"));
  EXPECT_THAT(missing.nearest, HasSubstr("mine.yaml"));
  EXPECT_EQ(fault_when([&] { (void)loaded("{a: b}"); }).key, "hardware");
  EXPECT_EQ(fault_when([&] { (void)loaded("[mine.yaml, [x]]"); }).key, "hardware");
  EXPECT_EQ(fault_when([&] { (void)loaded(""); }).key, "cluster.node.accelerator")
      << "without the file there is no name";
}

TEST_F(ScenarioHardware, IsTheSameForAllPointsOfASweep) {
  const Loader loader(text("mine.yaml"), folder_ / "s.yaml", source_catalogue(), test_plugins());
  const Tree value = parse_yaml("other.yaml", "axis");
  const auto fault = fault_when([&] { (void)loader.load({{"hardware", value}}); });
  EXPECT_THAT(fault.problem, HasSubstr("the same for all points"));
}

}  // namespace
}  // namespace lamina::scenario
