#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/scenario/scenario_fixture.hpp"

/// What a correct scenario turns into: values, units and defaults.
namespace lamina::scenario {
namespace {

using testing::HasSubstr;

TEST(ScenarioValues, DefaultsAreThoseOfTheDocumentation) {
  const Scenario scenario = load(good_scenario());
  EXPECT_EQ(scenario.name, "test");
  const Strategy& strategy = scenario.strategy;
  EXPECT_EQ(strategy.data_parallel, 8);
  EXPECT_EQ(strategy.pipeline_parallel, 1);
  EXPECT_EQ(strategy.tensor_parallel, 1);
  EXPECT_EQ(strategy.micro_batches, 4);
  EXPECT_EQ(strategy.global_batch(), 32);
  EXPECT_EQ(strategy.schedule.name, "accumulate");
  EXPECT_EQ(strategy.sharding.level, ShardingLevel::kNone);
  EXPECT_EQ(strategy.sharding.weight_buffers, 2);
  EXPECT_TRUE(strategy.overlap.pipeline && strategy.overlap.reduce && strategy.overlap.restore &&
              strategy.overlap.offload);
  EXPECT_EQ(strategy.recompute, Recompute::kNone);
  EXPECT_EQ(strategy.precision.compute, DataType::kBf16);
  EXPECT_EQ(strategy.precision.state_bytes_per_parameter, 12);
  EXPECT_FALSE(strategy.offload.state || strategy.offload.checkpoints);
  EXPECT_EQ(strategy.update, Update::kAfterGlobalNorm);
  EXPECT_THAT(strategy.placement, testing::ElementsAre(Dimension::kTensor, Dimension::kData, Dimension::kPipeline));
  EXPECT_TRUE(strategy.sliced_sends);
  EXPECT_EQ(scenario.cluster.topology.name, "fat_tree");
  EXPECT_EQ(scenario.cluster.topology.parameters.integer("levels"), 2);
  EXPECT_EQ(scenario.simulation.cost_model.name, "roofline");
  EXPECT_EQ(scenario.simulation.collective_algorithm, "ring");
  EXPECT_EQ(scenario.simulation.collective_form, CollectiveForm::kFluid);
  EXPECT_EQ(scenario.simulation.communication_slowdown, 0);
  EXPECT_TRUE(scenario.simulation.attention_scores && scenario.simulation.fold && scenario.simulation.enforce_memory);
  EXPECT_FALSE(scenario.training.has_value());
  EXPECT_FALSE(scenario.reference.has_value());
}

TEST(ScenarioValues, ThePipelineDecidesTheDefaultSchedule) {
  EXPECT_EQ(load(with_line(8, "  pipeline_parallel: 2")).strategy.schedule.name, "one_forward_one_backward");
}

TEST(ScenarioValues, EveryStrategyKeyArrives) {
  const Strategy strategy = load(with_line(8, R"(  data_parallel: 2
  pipeline_parallel: 2
  tensor_parallel: 4
  sequence_parallel: true
  micro_batch_size: 3
  schedule: {name: layered_modular, layers_per_chunk: 2, backward_order: descending}
  sharding: {level: full, weight_buffers: 3, gradient_buffers: 4, prefetch: false}
  overlap: {reduce: false, offload: false}
  recompute: selective
  precision: {compute: tf32, gradients: bf16, state_bytes_per_parameter: 16}
  offload: {state: true, update_on: device, checkpoints: true}
  update: with_reduction
  placement: [pipeline, tensor, data]
  fused_attention: true
  sliced_sends: false)"))
                                .strategy;
  EXPECT_EQ(strategy.ranks(), 16);
  EXPECT_TRUE(strategy.sequence_parallel);
  EXPECT_EQ(strategy.micro_batch_size, 3);
  EXPECT_EQ(strategy.schedule.name, "layered_modular");
  EXPECT_EQ(strategy.schedule.parameters.integer("layers_per_chunk"), 2);
  EXPECT_EQ(strategy.schedule.parameters.choice("backward_order"), "descending");
  EXPECT_EQ(strategy.sharding.level, ShardingLevel::kFull);
  EXPECT_EQ(strategy.sharding.weight_buffers, 3);
  EXPECT_EQ(strategy.sharding.gradient_buffers, 4);
  EXPECT_FALSE(strategy.sharding.prefetch);
  EXPECT_TRUE(strategy.overlap.pipeline && strategy.overlap.restore);
  EXPECT_FALSE(strategy.overlap.reduce || strategy.overlap.offload);
  EXPECT_EQ(strategy.recompute, Recompute::kSelective);
  EXPECT_EQ(strategy.precision.compute, DataType::kTf32);
  EXPECT_EQ(strategy.precision.weights, DataType::kFp32);  // tf32 is a rounding of fp32 weights
  EXPECT_EQ(strategy.precision.gradients, DataType::kBf16);
  EXPECT_EQ(strategy.precision.state_bytes_per_parameter, 16);
  EXPECT_TRUE(strategy.offload.state && strategy.offload.checkpoints);
  EXPECT_EQ(strategy.offload.update_on, OffloadUpdate::kDevice);
  EXPECT_EQ(strategy.update, Update::kWithReduction);
  EXPECT_THAT(strategy.placement, testing::ElementsAre(Dimension::kPipeline, Dimension::kTensor, Dimension::kData));
  EXPECT_TRUE(strategy.fused_attention);
  EXPECT_FALSE(strategy.sliced_sends);
}

TEST(ScenarioValues, ShortFormsSetTheirKey) {
  const Scenario scenario = load(with_more(R"(  sharding: gradients
  overlap: false
simulation: {cost_model: ideal, collectives: hierarchical}
)"));
  EXPECT_EQ(scenario.strategy.sharding.level, ShardingLevel::kGradients);
  EXPECT_FALSE(scenario.strategy.overlap.pipeline || scenario.strategy.overlap.reduce ||
               scenario.strategy.overlap.restore || scenario.strategy.overlap.offload);
  EXPECT_EQ(scenario.simulation.cost_model.name, "ideal");
  EXPECT_EQ(scenario.simulation.cost_model.parameters.number("fraction_of_peak"), 1);
  EXPECT_EQ(scenario.simulation.collective_algorithm, "hierarchical");
}

TEST(ScenarioValues, EverySimulationKeyArrives) {
  const Simulation simulation = load(with_more(R"(simulation:
  cost_model: {name: ideal, fraction_of_peak: 0.5}
  collectives: {algorithm: hierarchical, form: message}
  communication_slowdown: 0.1
  attention_scores: false
  fold: false
  enforce_memory: false
)"))
                                    .simulation;
  EXPECT_EQ(simulation.cost_model.parameters.number("fraction_of_peak"), 0.5);
  EXPECT_EQ(simulation.collective_algorithm, "hierarchical");
  EXPECT_EQ(simulation.collective_form, CollectiveForm::kMessage);
  EXPECT_EQ(simulation.communication_slowdown, 0.1);
  EXPECT_FALSE(simulation.attention_scores || simulation.fold || simulation.enforce_memory);
}

TEST(ScenarioValues, AGlobalBatchIsDealtToReplicas) {
  // 96 sequences over 8 replicas in micro-batches of 3: 4 each.
  const Strategy strategy = load(with_line(9, "  global_batch: 96\n  micro_batch_size: 3")).strategy;
  EXPECT_EQ(strategy.micro_batches, 4);
  EXPECT_EQ(strategy.global_batch(), 96);
}

TEST(ScenarioValues, RanksNeedNotFillTheCluster) {
  const Scenario scenario = load(with_line(8, "  data_parallel: 3"));
  EXPECT_EQ(scenario.strategy.ranks(), 3);
  EXPECT_EQ(scenario.cluster.devices(), 16);
}

TEST(ScenarioValues, PluginParametersOfEveryKindArriveInBaseUnits) {
  const Cluster cluster = load(with_line(6, R"(  network: infiniband-hdr
  topology: {name: fat_tree, levels: 3, oversubscription: 2.5, adaptive: false, cable_latency: 25 ns, uplink: 80 Gbit/s})"))
                              .cluster;
  EXPECT_EQ(cluster.topology.parameters.integer("levels"), 3);
  EXPECT_EQ(cluster.topology.parameters.number("oversubscription"), 2.5);
  EXPECT_FALSE(cluster.topology.parameters.boolean("adaptive"));
  EXPECT_EQ(cluster.topology.parameters.number("cable_latency"), 25e-9);
  EXPECT_EQ(cluster.topology.parameters.number("uplink"), 1e10);
}

TEST(ScenarioValues, AWholeClusterCanBeDefinedInline) {
  const Scenario scenario = load(R"(schema_version: 1
name: mine
description: All by hand
model: {layers: 4, hidden: 64, heads: 4, sequence_length: 32, vocabulary: 100}
cluster:
  node:
    devices: 4
    accelerator: {peak: {bf16: 100 TFLOP/s}, memory: 24 GB, memory_bandwidth: 1 TB/s, multiprocessors: 80}
    device_link: {bandwidth: 32 GB/s, latency: 2 us}
    host_path: {bandwidth: 16 GB/s, latency: 5 us, shared_by: 2}
    nics: 2
    host_memory: 256 GiB
  nodes: 3
  network: {bandwidth: 10 Gbit/s, port_latency: 20 us, switch_latency: 1 us, efficiency: 0.9}
strategy: {data_parallel: 12, micro_batches: 1}
)");
  EXPECT_EQ(scenario.name, "mine");
  EXPECT_EQ(scenario.description, "All by hand");
  EXPECT_EQ(scenario.model.name, "inline");
  EXPECT_EQ(scenario.model.key_value_heads, 4);
  EXPECT_EQ(scenario.model.head_size, 16);
  EXPECT_EQ(scenario.model.feed_forward, 256);
  EXPECT_TRUE(scenario.model.biases);
  const Node& node = scenario.cluster.node;
  EXPECT_EQ(scenario.cluster.devices(), 12);
  EXPECT_EQ(node.accelerator.memory.value(), 24e9);
  EXPECT_EQ(node.accelerator.peak.at(DataType::kBf16).value(), 100e12);
  EXPECT_EQ(node.accelerator.peak.size(), 1U);
  EXPECT_EQ(node.device_link.bandwidth.value(), 32e9);
  EXPECT_EQ(node.device_link.latency.value(), 2e-6);
  EXPECT_EQ(node.device_link_domain, 4);
  EXPECT_EQ(node.host_path.shared_by, 2);
  EXPECT_EQ(node.host_memory.value(), 256 * 1073741824.0);
  EXPECT_EQ(scenario.cluster.network.bandwidth.value(), 1.25e9);
  EXPECT_EQ(scenario.cluster.network.efficiency, 0.9);
}

TEST(ScenarioValues, EveryProtocolOfLinksArrives) {
  const Cluster cluster = load(with_line(6, R"(  network:
    base: infiniband-hdr
    protocols:
      - {name: Simple, start: 30 us, hop: 12 us}
      - {name: NVLS, algorithm: nvls, efficiency: 0.7})"))
                              .cluster;
  ASSERT_EQ(cluster.network.protocols.size(), 2U);
  const CollectiveProtocol& simple = cluster.network.protocols[0];
  EXPECT_EQ(simple.name, "Simple");
  EXPECT_EQ(simple.algorithm, "");
  EXPECT_DOUBLE_EQ(simple.start.value(), 30e-6);
  EXPECT_DOUBLE_EQ(simple.hop.value(), 12e-6);
  EXPECT_EQ(simple.efficiency, 1);
  EXPECT_EQ(cluster.network.protocols[1].algorithm, "nvls");
  EXPECT_EQ(cluster.network.protocols[1].efficiency, 0.7);
  EXPECT_TRUE(cluster.node.device_link.protocols.empty());
}

TEST(ScenarioValues, OneSwitchDomainNeedsNoNetwork) {
  const Scenario scenario =
      load("schema_version: 1\nmodel: x32\ncluster: {node: dgx-h100}\nstrategy: {micro_batches: 1}\n");
  EXPECT_EQ(scenario.cluster.topology.name, "nvlink_switch");
  EXPECT_EQ(scenario.cluster.network.name, "none");
}

TEST(ScenarioValues, TheComputeTypeFollowsTheAccelerator) {
  // V100 has no bf16.
  EXPECT_EQ(load(with_line(4, "  node: dgx-1")).strategy.precision.compute, DataType::kFp16);
  EXPECT_EQ(load(with_line(4, "  node: dgx-1")).strategy.precision.gradients, DataType::kFp16);
  const Precision fp8 = load(with_line(4, "  node: dgx-h100") + "  precision: {compute: fp8}\n").strategy.precision;
  EXPECT_EQ(fp8.weights, DataType::kBf16);
}

TEST(ScenarioValues, ACustomModelIsMadeOfDurations) {
  const std::string model = with_line(2, R"(model:
  custom: {forward: 2 ms, input_gradient: 3 ms, weight_gradient: 1.5 ms, message: 4 MiB, parameters: 100 MB, flops: 0.5 TFLOP}
  layers: 16)");
  const Model plain = load(model).model;
  ASSERT_TRUE(plain.custom.has_value());
  EXPECT_EQ(plain.layers, 16);
  EXPECT_EQ(plain.name, "custom");
  EXPECT_EQ(plain.sequence_length, 1);
  EXPECT_EQ(plain.custom->forward.value(), 2e-3);
  EXPECT_EQ(plain.custom->weight_gradient.value(), 1.5e-3);
  EXPECT_EQ(plain.custom->recompute.value(), 0);
  EXPECT_EQ(plain.custom->message.value(), 4194304);
  EXPECT_EQ(plain.custom->parameters.value(), 1e8);
  EXPECT_EQ(plain.custom->state.value(), 0);
  EXPECT_EQ(plain.custom->flops.value(), 5e11);
  EXPECT_EQ(load(model + "  recompute: full\n").model.custom->recompute.value(), 2e-3);
  EXPECT_EQ(
      load(model, {{"strategy.recompute", "full"}, {"model.custom.recompute", "1 ms"}}).model.custom->recompute.value(),
      1e-3);
}

TEST(ScenarioValues, TrainingAndReferenceArrive) {
  const Scenario scenario = load(with_more(R"(training: {tokens: 300e9, batch_law: kaplan_2020}
reference:
  source: a paper
  values:
    step.efficiency: 0.85
    throughput.tokens_per_s: 1000
    step.time_s: 8 min
    step.exposed_s.pipeline: {value: 3 ms, tolerance: 0.1}
    memory.breakdown_bytes.state: {value: 0.4 GB, expected_difference: -0.02, reason: rounding}
    links.peak_bytes_per_s: 25 GB/s
)"));
  ASSERT_TRUE(scenario.training.has_value());
  EXPECT_EQ(scenario.training->tokens, 3e11);
  EXPECT_EQ(scenario.training->steps, 0);
  EXPECT_EQ(scenario.training->batch_law, BatchLaw::kKaplan2020);
  ASSERT_TRUE(scenario.reference.has_value());
  EXPECT_EQ(scenario.reference->source, "a paper");
  const auto& values = scenario.reference->values;
  ASSERT_EQ(values.size(), 6U);
  EXPECT_EQ(values[0].name, "step.efficiency");
  EXPECT_EQ(values[0].value, 0.85);
  EXPECT_EQ(values[0].tolerance, 0.05);
  EXPECT_FALSE(values[0].expected_difference.has_value());
  EXPECT_EQ(values[1].value, 1000);
  EXPECT_EQ(values[2].value, 480);
  EXPECT_EQ(values[3].value, 3e-3);
  EXPECT_EQ(values[3].tolerance, 0.1);
  EXPECT_EQ(values[4].value, 4e8);
  EXPECT_EQ(values[4].expected_difference, -0.02);
  EXPECT_EQ(values[4].reason, "rounding");
  EXPECT_EQ(values[5].value, 25e9);
  EXPECT_EQ(load(with_more("training: {steps: 100000}\n")).training->steps, 1e5);
}

TEST(ScenarioValues, TheSameFileGivesTheSameScenarioEveryTime) {
  const std::string text = with_line(4, "  node: {base: dgx-h100, accelerator: {memory: 60 GiB}}");
  const Scenario first = load(text);
  const Scenario second = load(text);
  EXPECT_EQ(first.cluster.node.source, second.cluster.node.source);
  EXPECT_EQ(first.cluster.node.accelerator.name, second.cluster.node.accelerator.name);
  EXPECT_EQ(first.cluster.node.accelerator.peak, second.cluster.node.accelerator.peak);
  EXPECT_EQ(first.cluster.topology.parameters.numbers(), second.cluster.topology.parameters.numbers());
  const std::string wrong = with_line(4, "  node: dgx");
  EXPECT_EQ(fault_of(wrong).allowed, fault_of(wrong).allowed);
  EXPECT_EQ(fault_of(wrong).nearest, fault_of(wrong).nearest);
}

TEST(ScenarioValues, BytesOfATypeAreItsStorage) {
  EXPECT_EQ(bytes_of(DataType::kFp32), 4);
  EXPECT_EQ(bytes_of(DataType::kTf32), 4);
  EXPECT_EQ(bytes_of(DataType::kFp16), 2);
  EXPECT_EQ(bytes_of(DataType::kBf16), 2);
  EXPECT_EQ(bytes_of(DataType::kFp8), 1);
}

}  // namespace
}  // namespace lamina::scenario
