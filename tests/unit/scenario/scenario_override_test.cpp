#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/scenario/scenario_fixture.hpp"

namespace lamina::scenario {
namespace {

using testing::HasSubstr;

TEST(ScenarioOverride, SetsAKeyThatTheFileHasOrLeavesOut) {
  EXPECT_EQ(load(good_scenario(), {{"strategy.micro_batches", "8"}}).strategy.micro_batches, 8);
  EXPECT_EQ(load(good_scenario(), {{"strategy.pipeline_parallel", "2"}}).strategy.pipeline_parallel, 2);
  EXPECT_FALSE(load(good_scenario(), {{"simulation.fold", "false"}}).simulation.fold);
  EXPECT_EQ(load(good_scenario(), {{"model", "gpt3-175b"}}).model.layers, 96);
}

TEST(ScenarioOverride, KnowsTheShortForms) {
  const Strategy strategy = load(good_scenario(), {{"dp", "2"}, {"pp", "4"}, {"tp", "2"}, {"mbs", "3"}}).strategy;
  EXPECT_EQ(strategy.data_parallel, 2);
  EXPECT_EQ(strategy.pipeline_parallel, 4);
  EXPECT_EQ(strategy.tensor_parallel, 2);
  EXPECT_EQ(strategy.micro_batch_size, 3);
}

TEST(ScenarioOverride, TakesScheduleForTheStrategysScheduleAndItsParameters) {
  EXPECT_EQ(load(good_scenario(), {{"schedule", "accumulate"}}).strategy.schedule.name, "accumulate");
  const Scenario scenario =
      load(good_scenario(), {{"schedule", "layered_modular"}, {"schedule.layers_per_chunk", "2"}});
  EXPECT_EQ(scenario.strategy.schedule.parameters.integer("layers_per_chunk"), 2);
  EXPECT_EQ(load(good_scenario(), {{"schedule_file", "a/x.csv"}}).strategy.schedule_file->path, "a/x.csv");
}

TEST(ScenarioOverride, SuggestsTheSectionOfAKeyThatIsGivenWithoutOne) {
  const error::ScenarioFault fault = fault_of(good_scenario(), {{"recompute", "full"}});
  EXPECT_EQ(fault.key, "recompute");
  EXPECT_EQ(fault.nearest, "strategy.recompute");
  EXPECT_EQ(fault_of(good_scenario(), {{"fold", "false"}}).nearest, "simulation.fold");
  EXPECT_EQ(fault_of(good_scenario(), {{"nonsense", "1"}}).nearest, "");
}

TEST(ScenarioOverride, ShortFormsAreForTheCommandLineOnly) {
  EXPECT_EQ(fault_of(with_line(8, "  tp: 2")).key, "strategy.tp");
}

TEST(ScenarioOverride, TheLastOneWins) {
  EXPECT_EQ(load(good_scenario(), {{"dp", "2"}, {"strategy.data_parallel", "4"}}).strategy.data_parallel, 4);
}

TEST(ScenarioOverride, ReachesIntoACatalogueReference) {
  const Network network = load(good_scenario(), {{"cluster.network.bandwidth", "25 Gbit/s"}}).cluster.network;
  EXPECT_EQ(network.bandwidth.value(), 3.125e9);
  EXPECT_EQ(network.efficiency, load(good_scenario()).cluster.network.efficiency);
  EXPECT_EQ(network.name, "infiniband-hdr (changed)");
  EXPECT_THAT(network.source, HasSubstr("changed in the scenario: bandwidth"));
}

TEST(ScenarioOverride, ReachesIntoAReferenceInsideAReference) {
  const Node node = load(good_scenario(), {{"cluster.node.accelerator.memory", "40 GB"},
                                           {"cluster.node.accelerator.peak.bf16", "200 TFLOP/s"}})
                        .cluster.node;
  EXPECT_EQ(node.accelerator.memory.value(), 4e10);
  EXPECT_EQ(node.accelerator.peak.at(DataType::kBf16).value(), 200e12);
  EXPECT_EQ(node.accelerator.peak.at(DataType::kFp16).value(), 312e12);
  EXPECT_EQ(node.accelerator.multiprocessors, 108);
  EXPECT_EQ(node.nics, 8);
}

TEST(ScenarioOverride, ReplacesAWholeReference) {
  const Scenario scenario = load(with_line(6, "  network: {base: infiniband-hdr, bandwidth: 1 GB/s}"),
                                 {{"cluster.network", "infiniband-ndr"}, {"cluster.accelerator", "h100-sxm"}});
  EXPECT_EQ(scenario.cluster.network.bandwidth.value(), 50e9);
  EXPECT_EQ(scenario.cluster.network.name, "infiniband-ndr");
  EXPECT_EQ(scenario.cluster.node.accelerator.name, "h100-sxm");
}

TEST(ScenarioOverride, UnfoldsShortForms) {
  const std::string text = with_more(R"(  sharding: full
  overlap: false
  schedule: layered_modular
)");
  const Strategy strategy = load(text, {{"strategy.sharding.weight_buffers", "3"},
                                        {"strategy.overlap.reduce", "true"},
                                        {"strategy.schedule.layers_per_chunk", "4"}})
                                .strategy;
  EXPECT_EQ(strategy.sharding.level, ShardingLevel::kFull);
  EXPECT_EQ(strategy.sharding.weight_buffers, 3);
  EXPECT_TRUE(strategy.overlap.reduce);
  EXPECT_FALSE(strategy.overlap.pipeline);
  EXPECT_EQ(strategy.schedule.name, "layered_modular");
  EXPECT_EQ(strategy.schedule.parameters.integer("layers_per_chunk"), 4);
}

TEST(ScenarioOverride, ReplacesTheOtherWayToSayTheSame) {
  const Strategy strategy = load(good_scenario(), {{"strategy.global_batch", "16"}}).strategy;
  EXPECT_EQ(strategy.micro_batches, 2);
  EXPECT_EQ(load(with_more("training: {steps: 3}\n"), {{"training.tokens", "1e9"}}).training->steps, 0);
  EXPECT_EQ(fault_of(good_scenario(), {{"strategy.global_batch", "16"}, {"strategy.micro_batches", "2"}}).problem,
            "The batch is given twice.");
}

TEST(ScenarioOverride, TakesYamlValues) {
  const Strategy strategy = load(good_scenario(), {{"strategy.placement", "[data, tensor, pipeline]"},
                                                   {"strategy.sharding", "{level: full, prefetch: false}"}})
                                .strategy;
  EXPECT_EQ(strategy.placement[0], Dimension::kData);
  EXPECT_FALSE(strategy.sharding.prefetch);
}

TEST(ScenarioOverride, ReachesPublishedFiguresByTheirDottedName) {
  const Scenario scenario =
      load(with_more("reference: {source: s, values: {step.efficiency: 0.5}}\n"),
           {{"reference.values.step.efficiency", "0.7"}, {"reference.values.training.days", "3"}});
  ASSERT_EQ(scenario.reference->values.size(), 2U);
  EXPECT_EQ(scenario.reference->values[0].value, 0.7);
  EXPECT_EQ(scenario.reference->values[1].name, "training.days");
}

TEST(ScenarioOverride, ErrorsNameTheOverride) {
  const auto unknown = fault_of(good_scenario(), {{"strategy.micro_batchs", "8"}});
  EXPECT_EQ(unknown.location.file, "--set strategy.micro_batchs=8");
  EXPECT_EQ(unknown.location.line, 0);
  EXPECT_EQ(unknown.key, "strategy.micro_batchs");
  EXPECT_EQ(unknown.nearest, "micro_batches");
  const auto unit = fault_of(good_scenario(), {{"cluster.network.bandwidth", "25"}});
  EXPECT_EQ(unit.location.file, "--set cluster.network.bandwidth=25");
  EXPECT_EQ(unit.problem, "The number has no unit.");
  const auto ranks = fault_of(good_scenario(), {{"tp", "16"}});
  EXPECT_EQ(ranks.location.file, "--set tp=16");
  EXPECT_EQ(ranks.key, "strategy.tensor_parallel");
  EXPECT_EQ(fault_of(good_scenario(), {{"strategi.micro_batches", "8"}}).nearest, "strategy");
  EXPECT_EQ(fault_of(good_scenario(), {{"strategy.micro_batches.x", "8"}}).problem, "The value has the wrong type.");
  EXPECT_EQ(fault_of(good_scenario(), {{"cluster.nodes", ""}}).problem, "The key has no value.");
}

TEST(ScenarioOverride, MalformedOnesAreRefused) {
  EXPECT_THAT(fault_of(good_scenario(), {{"", "8"}}).problem, HasSubstr("dotted path"));
  EXPECT_THAT(fault_of(good_scenario(), {{"strategy..x", "8"}}).problem, HasSubstr("dotted path"));
  EXPECT_THAT(fault_of(good_scenario(), {{".", "8"}}).problem, HasSubstr("dotted path"));
  EXPECT_THAT(fault_of(good_scenario(), {{"strategy.sharding", "{level: "}}).problem, HasSubstr("not valid YAML"));
  EXPECT_THAT(fault_of(good_scenario(), {{"name", "a\n---\nb"}}).problem, HasSubstr("several YAML documents"));
  EXPECT_THAT(fault_of(good_scenario(), {{"name", "\xff"}}).problem, HasSubstr("UTF-8"));
  std::string deep = "a";
  for (int i = 0; i < 100; ++i) {
    deep += ".a";
  }
  EXPECT_THAT(fault_of(good_scenario(), {{deep, "8"}}).problem, HasSubstr("dotted path"));
}

}  // namespace
}  // namespace lamina::scenario
