#include "sim/scenario/sweep_spec.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/scenario/loader.hpp"
#include "tests/unit/scenario/scenario_fixture.hpp"

namespace lamina::scenario {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string kFile = R"(schema_version: 1
model: x32
cluster: {node: dgx-a100-80gb, network: infiniband-hdr, nodes: 8}
strategy: {data_parallel: 2, micro_batches: 4}
)";

Loader loader_of(const std::string& sweep) {
  return {kFile + sweep, "folder/test.yaml", source_catalogue(), test_plugins()};
}

std::vector<std::string> texts(const Factor& factor, std::size_t key = 0) {
  std::vector<std::string> result;
  for (const auto& step : factor.steps) {
    result.push_back(step[key] ? step[key]->text : "-");
  }
  return result;
}

/// Texts of the one axis that `--axis` makes.
std::vector<std::string> axis(const std::string& key, const std::string& values) {
  const SweepSpec spec = loader_of("").sweep({{key, values}});
  EXPECT_EQ(spec.factors.size(), 1U);
  return texts(spec.factors.at(0));
}

error::ScenarioFault fault_of(const std::string& sweep, const std::vector<Override>& axes = {},
                              const std::vector<std::string>& filters = {}) {
  return fault_when([&] { (void)loader_of(sweep).sweep(axes, filters); });
}

TEST(SweepSpec, IsEmptyWithoutASection) {
  EXPECT_TRUE(loader_of("").sweep().empty());
}

TEST(SweepSpec, FactorsStandInTheOrderListZipAxes) {
  const SweepSpec spec = loader_of(R"(sweep:
  axes: {strategy.tensor_parallel: [1, 2], mbs: [1]}
  zip: [{cluster.node: [dgx-a100-80gb, dgx-h100], cluster.network: [infiniband-hdr, infiniband-ndr]}]
  list: [{strategy.schedule: accumulate}, {strategy.recompute: full}]
)")
                             .sweep();
  EXPECT_THAT(spec.keys(), ElementsAre("strategy.schedule", "strategy.recompute", "cluster.node", "cluster.network",
                                       "strategy.tensor_parallel", "strategy.micro_batch_size"));
  EXPECT_THAT(texts(spec.factors[0], 0), ElementsAre("accumulate", "-"));
  EXPECT_THAT(texts(spec.factors[1], 1), ElementsAre("infiniband-hdr", "infiniband-ndr"));
}

TEST(SweepSpec, RangesAddMultiplyOrSpread) {
  EXPECT_THAT(axis("tp", "1..9+4"), ElementsAre("1", "5", "9"));
  EXPECT_THAT(axis("tp", "1..10+4"), ElementsAre("1", "5", "9"));
  EXPECT_THAT(axis("tp", "1..64*4"), ElementsAre("1", "4", "16", "64"));
  EXPECT_THAT(axis("tp", "2..4"), ElementsAre("2", "3", "4"));
  EXPECT_THAT(axis("tp", "1..1000:4log"), ElementsAre("1", "10", "100", "1000"));
  EXPECT_THAT(axis("tp", "1..4:11"), ElementsAre("1", "2", "3", "4"));  // rounded, once each
  EXPECT_THAT(axis("simulation.communication_slowdown", "0..0.3+0.1"), ElementsAre("0", "0.1", "0.2", "0.3"));
}

TEST(SweepSpec, RangesKeepTheUnitOfTheirStart) {
  EXPECT_THAT(axis("cluster.network.bandwidth", "10Gbit/s..400Gbit/s*2"),
              ElementsAre("10 Gbit/s", "20 Gbit/s", "40 Gbit/s", "80 Gbit/s", "160 Gbit/s", "320 Gbit/s"));
  EXPECT_THAT(axis("cluster.network.bandwidth", "500 MB/s..2 GB/s+500 MB/s"),
              ElementsAre("500 MB/s", "1000 MB/s", "1500 MB/s", "2000 MB/s"));
  const SweepSpec spec = loader_of("").sweep({{"cluster.network.bandwidth", "8Gbit/s,2 GB/s"}});
  EXPECT_EQ(std::get<double>(*spec.factors[0].steps[0][0]->operand), 1e9);
  EXPECT_EQ(std::get<double>(*spec.factors[0].steps[1][0]->operand), 2e9);
}

TEST(SweepSpec, ValuesMayBeMappings) {
  EXPECT_THAT(axis("schedule", "accumulate,{name: layered_modular, layers_per_chunk: 2}"),
              ElementsAre("accumulate", "{name: layered_modular, layers_per_chunk: 2}"));
}

TEST(SweepSpec, AnAxisOfTheCommandLineReplacesTheFiles) {
  const SweepSpec spec =
      loader_of("sweep: {axes: {strategy.tensor_parallel: [1, 2], mbs: [1, 2]}}\n").sweep({{"tp", "4"}, {"pp", "1,2"}});
  EXPECT_THAT(spec.keys(),
              ElementsAre("strategy.tensor_parallel", "strategy.micro_batch_size", "strategy.pipeline_parallel"));
  EXPECT_THAT(texts(spec.factors[0]), ElementsAre("4"));
}

TEST(SweepSpec, AnUnknownKeyNamesTheNearest) {
  const auto fault = fault_of("sweep: {axes: {strategy.tensor_paralel: [1]}}\n");
  EXPECT_EQ(fault.location.line, 5);
  EXPECT_EQ(fault.nearest, "strategy.tensor_parallel");
  EXPECT_EQ(fault_of("", {{"tensor_parallel", "1"}}).nearest, "strategy.tensor_parallel");
  EXPECT_EQ(fault_of("", {{"cluster.network.bandwith", "1 GB/s"}}).nearest, "bandwidth");
  EXPECT_EQ(fault_of("", {{"strategy.schedule.layers_per_chunks", "1"}}).nearest, "layers_per_chunk");
}

TEST(SweepSpec, ValuesThatTheKeyNeverTakesAreFaultsOfTheFile) {
  EXPECT_THAT(fault_of("sweep: {axes: {tp: [1, two]}}\n").read, HasSubstr("two"));
  EXPECT_THAT(fault_of("", {{"tp", "0"}}).problem, HasSubstr("zero"));
  EXPECT_THAT(fault_of("", {{"schedule", "acumulate"}}).nearest, HasSubstr("accumulate"));
  EXPECT_THAT(fault_of("", {{"cluster.network", "infiniband-hdx"}}).nearest, HasSubstr("infiniband-hdr"));
  EXPECT_THAT(fault_of("", {{"cluster.network.bandwidth", "25"}}).problem, HasSubstr("unit"));
}

TEST(SweepSpec, BadRangesAndAxesSaySo) {
  const auto problem = [](const std::string& key, const std::string& values) {
    return fault_of("", {{key, values}}).problem;
  };
  EXPECT_THAT(problem("simulation.communication_slowdown", "0..0.9:3log"), HasSubstr("starts above zero"));
  EXPECT_THAT(problem("simulation.communication_slowdown", "0..0.9*2"), HasSubstr("starts above zero"));
  EXPECT_THAT(problem("tp", "8..1*2"), HasSubstr("ends before it starts"));
  EXPECT_THAT(problem("tp", "1..8*1"), HasSubstr("never ends"));
  EXPECT_THAT(problem("tp", "1..8+0"), HasSubstr("never ends"));
  EXPECT_THAT(problem("tp", "1..1000*1.5"), HasSubstr("no whole number"));
  EXPECT_THAT(problem("cluster.network.bandwidth", "1 MB/s..1 TB/s+1 MB/s"), HasSubstr("1000000 values"));
  EXPECT_THAT(problem("schedule", "1..4"), HasSubstr("take numbers"));
  EXPECT_THAT(fault_of("sweep: {axes: {tp: []}}\n").problem, HasSubstr("no values"));
  EXPECT_THAT(fault_of("sweep: {axes: {}}\n").problem, HasSubstr("no axis"));
  EXPECT_THAT(fault_of("sweep: {axes: {tp: [1, 1]}}\n").problem, HasSubstr("twice"));
  EXPECT_THAT(fault_of("sweep: {axes: {tp: [1], strategy.tensor_parallel: [2]}}\n").problem, HasSubstr("twice"));
  EXPECT_THAT(fault_of("sweep: {axes: {tp: {from: 1, to: 4}}}\n").problem, HasSubstr("does not say how"));
  EXPECT_THAT(fault_of("sweep: {axes: {tp: {from: 1, to: 4, step: 1, factor: 2}}}\n").problem, HasSubstr("twice how"));
  EXPECT_THAT(fault_of("sweep: {zip: [{tp: [1, 2], pp: [1, 2, 4]}]}\n").problem, HasSubstr("equally many"));
  EXPECT_THAT(fault_of("sweep: {list: [3]}\n").problem, HasSubstr("wrong type"));
  EXPECT_THAT(fault_of("sweep: {axis: {tp: [1]}}\n").nearest, HasSubstr("axes"));
}

TEST(SweepSpec, ExpressionsAreCheckedWhereTheyStand) {
  const auto fault = fault_of("sweep: {axes: {tp: [1]}, where: tensor_paralel < 4}\n");
  EXPECT_EQ(fault.location.line, 5);
  EXPECT_EQ(fault.nearest, "tensor_parallel");
  EXPECT_THAT(fault.read, HasSubstr("column 1 of"));
  EXPECT_THAT(fault_of("", {{"dp", "= 8 / (tp"}}).read, HasSubstr("column 7 of"));
  EXPECT_THAT(fault_of("", {{"tp", "1"}}, {"tp = 1"}).location.file, HasSubstr("--where tp = 1"));
}

TEST(SweepSpec, IsCheckedByEveryCommandThatLoadsTheFile) {
  EXPECT_THAT(fault_when([] { (void)load(kFile + "sweep: {axes: {tp: [x]}}\n"); }).key, "strategy.tensor_parallel");
  EXPECT_EQ(load(kFile + "sweep: {axes: {tp: [2]}}\n").strategy.tensor_parallel, 1);
}

TEST(SweepSpec, NamesMeanAxesByTheirLastPartOrAlias) {
  const std::vector<std::string> keys = {"strategy.tensor_parallel", "cluster.network.bandwidth",
                                         "cluster.node.device_link.bandwidth"};
  EXPECT_EQ(axis_named("tp", keys), 0U);
  EXPECT_EQ(axis_named("tensor_parallel", keys), 0U);
  EXPECT_EQ(axis_named("cluster.network.bandwidth", keys), 1U);
  EXPECT_FALSE(axis_named("bandwidth", keys).has_value());
}

TEST(Loader, LoadsWhatLoadTextLoadsWithTheSameChanges) {
  const Loader loader = loader_of("");
  const Scenario direct = load(kFile, {{"tp", "4"}, {"cluster.network.bandwidth", "10 GB/s"}});
  const Scenario changed = loader.load({{"tp", scalar("4", {})}, {"cluster.network.bandwidth", scalar("10 GB/s", {})}});
  EXPECT_EQ(changed.strategy.tensor_parallel, direct.strategy.tensor_parallel);
  EXPECT_EQ(changed.cluster.network.bandwidth.value(), 10e9);
  EXPECT_EQ(changed.cluster.network.name, direct.cluster.network.name);
  EXPECT_EQ(loader.load().strategy.tensor_parallel, 1);  // the loader itself is as it was
}

}  // namespace
}  // namespace lamina::scenario
