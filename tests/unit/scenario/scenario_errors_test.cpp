#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/scenario/scenario_fixture.hpp"

namespace lamina::scenario {
namespace {

using testing::HasSubstr;

void expect_at(const error::ScenarioFault& fault, int line, int column, const std::string& key) {
  EXPECT_EQ(fault.location.file, "folder/test.yaml");
  EXPECT_EQ(fault.location.line, line);
  EXPECT_EQ(fault.location.column, column);
  EXPECT_EQ(fault.key, key);
}

TEST(ScenarioErrors, AnUnknownKeyIsNamedWithPlaceAndNearest) {
  const auto fault = fault_of(with_line(9, "  micro_batch: 4"));
  expect_at(fault, 9, 3, "strategy.micro_batch");
  EXPECT_EQ(fault.problem, "There is no such key.");
  EXPECT_EQ(fault.nearest, "micro_batches");
  EXPECT_THAT(fault.allowed, HasSubstr("pipeline_parallel"));
}

TEST(ScenarioErrors, TheMessageReadsAsOnePiece) {
  try {
    static_cast<void>(load(with_line(6, "  networks: infiniband-hdr")));
    FAIL();
  } catch (const error::ScenarioError& problem) {
    EXPECT_EQ(std::string(problem.what()),
              "folder/test.yaml:6:3: cluster.networks: There is no such key.\n"
              "  allowed: node, nodes, accelerator, network or topology\n"
              "  did you mean \"network\"?");
  }
}

TEST(ScenarioErrors, AMissingKeyIsReportedAtItsParent) {
  const auto fault = fault_of("schema_version: 1\nmodel: x32\ncluster:\n  nodes: 2\nstrategy: {micro_batches: 1}\n");
  expect_at(fault, 4, 3, "cluster.node");
  EXPECT_THAT(fault.problem, HasSubstr("\"node\" is missing"));
  EXPECT_THAT(fault_of("schema_version: 1\n").problem, HasSubstr("\"model\" is missing"));
}

TEST(ScenarioErrors, ABareNumberForADimensionedKeyIsRefused) {
  const auto fault = fault_of(with_line(6, "  network: {base: infiniband-hdr, bandwidth: 25}"));
  expect_at(fault, 6, 46, "cluster.network.bandwidth");
  EXPECT_EQ(fault.problem, "The number has no unit.");
  EXPECT_EQ(fault.read, "\"25\"");
  EXPECT_THAT(fault.allowed, HasSubstr("Gbit/s"));
}

TEST(ScenarioErrors, ProtocolsThatLeaveAnAlgorithmWithoutOneAreRefused) {
  const auto fault = fault_of(with_line(
      6, "  network: {base: infiniband-hdr, protocols: [{name: A, algorithm: tree}, {name: B, algorithm: ring}]}"));
  EXPECT_EQ(fault.key, "cluster.network.protocols");
  EXPECT_EQ(fault.problem, "No protocol holds for all algorithms.");
  const auto none = fault_of(with_line(6, "  network: {base: infiniband-hdr, protocols: []}"));
  EXPECT_EQ(none.key, "cluster.network.protocols");
  const auto unknown =
      fault_of(with_line(6, "  network: {base: infiniband-hdr, protocols: [{name: A, algorithm: trees}]}"));
  EXPECT_EQ(unknown.key, "cluster.network.protocols.0.algorithm");
  EXPECT_THAT(unknown.allowed, HasSubstr("sharp"));
  const auto stopped =
      fault_of(with_line(6, "  network: {base: infiniband-hdr, protocols: [{name: A, efficiency: 0}]}"));
  EXPECT_EQ(stopped.key, "cluster.network.protocols.0.efficiency");
}

TEST(ScenarioErrors, TheMessageFormNeedsOneAlgorithmOfMessages) {
  const auto fault = fault_of(with_more("simulation: {collectives: {algorithm: automatic, form: message}}\n"));
  EXPECT_EQ(fault.key, "simulation.collectives.form");
  EXPECT_EQ(fault.read, "message");
  EXPECT_THAT(fault.allowed, HasSubstr("ring, tree and hierarchical"));
}

TEST(ScenarioErrors, AWrongUnitIsRefused) {
  const auto fault = fault_of(with_line(6, "  network: {base: infiniband-hdr, bandwidth: 25 GiB}"));
  EXPECT_EQ(fault.problem, "The unit \"GiB\" does not fit here.");
  EXPECT_EQ(fault_of(with_line(6, "  network: {base: infiniband-hdr, bandwidth: 25 Gbps}")).nearest, "Gbit/s");
}

TEST(ScenarioErrors, NegativeZeroNanAndInfinityAreRefused) {
  const auto bandwidth = [](const std::string& value) {
    return fault_of(with_line(6, "  network: {base: infiniband-hdr, bandwidth: " + value + "}")).problem;
  };
  EXPECT_EQ(bandwidth("-25 GB/s"), "The value must not be negative.");
  EXPECT_EQ(bandwidth("0 GB/s"), "The value must not be zero.");
  EXPECT_EQ(bandwidth(".nan"), "The number must be finite.");
  EXPECT_EQ(bandwidth("nan GB/s"), "The number must be finite.");
  EXPECT_EQ(bandwidth(".inf"), "The number must be finite.");
  EXPECT_EQ(bandwidth("-.inf"), "The number must be finite.");
  EXPECT_EQ(bandwidth("1e400 GB/s"), "The number is outside what a double can hold.");
  EXPECT_EQ(fault_of(with_line(5, "  nodes: 0")).problem, "The value must not be zero.");
  EXPECT_EQ(fault_of(with_line(5, "  nodes: -2")).problem, "The value must not be negative.");
  EXPECT_EQ(fault_of(with_line(5, "  nodes: 1.5")).problem, "This is not a whole number.");
  EXPECT_EQ(fault_of(with_line(5, "  nodes: .inf")).problem, "This is not a whole number.");
  EXPECT_EQ(fault_of(with_line(5, "  nodes: 99999999999999999999")).problem, "The number is too large.");
  EXPECT_EQ(fault_of(with_line(5, "  nodes: 2000000")).allowed, "1 to 1000000");
}

TEST(ScenarioErrors, ValuesOfTheWrongTypeAreRefused) {
  EXPECT_EQ(fault_of(with_line(5, "  nodes: [2]")).read, "a list");
  EXPECT_EQ(fault_of(with_line(5, "  nodes: {a: 2}")).read, "a mapping");
  EXPECT_EQ(fault_of(with_line(5, "  nodes:")).problem, "The key has no value.");
  EXPECT_EQ(fault_of(with_line(5, "  nodes: ~")).problem, "The key has no value.");
  EXPECT_EQ(fault_of(with_line(2, "model: [x32]")).read, "a list");
  EXPECT_EQ(fault_of(with_line(2, "model: {base: [x32]}")).read, "a list");
  EXPECT_EQ(fault_of(with_more("simulation: ideal\n")).read, "\"ideal\"");
  EXPECT_EQ(fault_of(with_more("simulation: [ideal]\n")).read, "a list");
  EXPECT_EQ(fault_of(with_more("  schedule: [gpipe]\n")).read, "a list");
  EXPECT_EQ(fault_of(with_more("  schedule: {name: {a: b}}\n")).read, "a mapping");
  EXPECT_EQ(fault_of(with_more("  sequence_parallel: yes\n")).problem, "This is neither true nor false.");
  EXPECT_EQ(fault_of(with_more("  sharding: [full]\n")).read, "a list");
  EXPECT_EQ(fault_of("[1, 2]\n").read, "a list");
  EXPECT_EQ(fault_of("hello\n").read, "\"hello\"");
}

TEST(ScenarioErrors, AnEmptyFileIsRefused) {
  EXPECT_EQ(fault_of("").read, "an empty file");
  EXPECT_EQ(fault_of("# nothing but a comment\n").read, "an empty file");
}

TEST(ScenarioErrors, UnknownCatalogueNamesAreAnsweredWithTheNearest) {
  const auto network = fault_of(with_line(6, "  network: infiniband-hdd"));
  expect_at(network, 6, 12, "cluster.network");
  EXPECT_EQ(network.nearest, "infiniband-hdr");
  EXPECT_THAT(network.allowed, HasSubstr("ethernet-25-roce"));
  EXPECT_EQ(fault_of(with_line(4, "  node: dgx-a100")).nearest, "dgx-a100-40gb");  // alphabetical
  EXPECT_EQ(fault_of(with_line(2, "model: gpt3-17b")).nearest, "gpt3-175b");
  EXPECT_EQ(fault_of(with_line(2, "model: X_160")).nearest, "x160");
  EXPECT_EQ(fault_of(with_line(2, "model: x-160")).nearest, "x160");
  EXPECT_EQ(fault_of(with_line(2, "model: x0160")).nearest, "x160");
  EXPECT_EQ(fault_of(with_line(2, "model: x1001")).nearest, "");
  EXPECT_EQ(fault_of(with_line(2, "model: x0")).nearest, "");
  EXPECT_THAT(fault_of(with_line(2, "model: x1001")).allowed, HasSubstr("x1 to x1000"));
  EXPECT_EQ(fault_of(with_line(6, "  network: {base: infiniband-hdd}")).nearest, "infiniband-hdr");
}

TEST(ScenarioErrors, UnknownPluginsAndTheirParametersAreRefused) {
  const auto schedule = fault_of(with_more("  schedule: layered_modula\n"));
  expect_at(schedule, 10, 13, "strategy.schedule");
  EXPECT_EQ(schedule.nearest, "layered_modular");
  EXPECT_EQ(fault_of(with_more("  schedule: {name: layered_modular, layer_per_chunk: 2}\n")).nearest,
            "layers_per_chunk");
  EXPECT_EQ(fault_of(with_more("  schedule: {name: layered_modular, layers_per_chunk: 0}\n")).allowed, "1 to 1000");
  EXPECT_EQ(fault_of(with_more("  schedule: {name: layered_modular, backward_order: up}\n")).allowed,
            "ascending or descending");
  EXPECT_EQ(fault_of(with_more("simulation: {cost_model: rooflin}\n")).nearest, "roofline");
  EXPECT_EQ(fault_of(with_more("simulation: {cost_model: {name: ideal, fraction_of_peak: 2}}\n")).allowed, "0.01 to 1");
  EXPECT_THAT(fault_of(with_more("simulation: {cost_model: strict}\n")).problem, HasSubstr("\"needed\" is missing"));
  EXPECT_EQ(fault_of(with_more("simulation: {collectives: rings}\n")).nearest, "ring");
  EXPECT_EQ(fault_of(with_line(6, "  network: infiniband-hdr\n  topology: {name: fat_tree, cable_latency: 3}")).problem,
            "The number has no unit.");
}

TEST(ScenarioErrors, TheSchemaVersionComesFirst) {
  EXPECT_THAT(fault_of("model: x32\nnonsense: 1\n").problem, HasSubstr("\"schema_version\" is missing"));
  const auto fault = fault_of("schema_version: 2\nfuture_key: 1\n");
  expect_at(fault, 1, 17, "schema_version");
  EXPECT_THAT(fault.problem, HasSubstr("not supported"));
  EXPECT_EQ(fault.allowed, "1");
  EXPECT_EQ(fault_of("schema_version: one\n").problem, "This is not a whole number.");
}

TEST(ScenarioErrors, MoreRanksThanDevicesAreRefusedWithTheNumbers) {
  const auto fault = fault_of(with_line(8, "  data_parallel: 17"));
  expect_at(fault, 8, 18, "strategy.data_parallel");
  EXPECT_EQ(fault.read, "17 data x 1 pipeline x 1 tensor = 17 ranks");
  EXPECT_EQ(fault.allowed, "at most 16 (2 nodes of 8)");
  EXPECT_EQ(
      fault_of(with_line(8, "  data_parallel: 10000000\n  pipeline_parallel: 10000000\n  tensor_parallel: 10000000"))
          .key,
      "strategy.data_parallel");
}

TEST(ScenarioErrors, ExactlyOneOfMicroBatchesAndGlobalBatch) {
  const auto twice = fault_of(with_more("  global_batch: 32\n"));
  expect_at(twice, 10, 17, "strategy.global_batch");
  EXPECT_EQ(twice.problem, "The batch is given twice.");
  EXPECT_EQ(fault_of(with_line(9, "  tensor_parallel: 1")).problem, "The batch is not given.");
}

TEST(ScenarioErrors, AGlobalBatchMustDivide) {
  const auto fault = fault_of(with_line(9, "  global_batch: 36"));
  expect_at(fault, 9, 17, "strategy.global_batch");
  EXPECT_EQ(fault.problem, "36 sequences cannot be dealt to 8 replicas in micro-batches of 1.");
  EXPECT_EQ(fault.allowed, "a multiple of 8");
}

// x32 has 16 heads, an MLP of 4096 and sequences of 512.
TEST(ScenarioErrors, TensorRanksMustDivideTheModel) {
  const auto fault = fault_of(with_line(8, "  tensor_parallel: 3"));
  expect_at(fault, 8, 20, "strategy.tensor_parallel");
  EXPECT_EQ(fault.problem, "3 tensor ranks do not divide the model's 16 heads.");
  EXPECT_THAT(fault_of(with_line(2, "model: {base: x32, feed_forward: 4097}") + "  tensor_parallel: 2\n").problem,
              HasSubstr("4097 columns of the MLP"));
  const std::string odd = with_line(8, "  tensor_parallel: 5");
  EXPECT_THAT(fault_of(odd, {{"model.heads", "15"}, {"model.key_value_heads", "3"}}).problem,
              HasSubstr("3 key and value heads"));
  EXPECT_THAT(fault_of(with_line(8, "  tensor_parallel: 4"),
                       {{"model.sequence_length", "510"}, {"strategy.sequence_parallel", "true"}})
                  .problem,
              HasSubstr("510 tokens"));
}

TEST(ScenarioErrors, PlacementIsAPermutation) {
  EXPECT_EQ(fault_of(with_more("  placement: [tensor, data]\n")).problem, "A dimension is missing.");
  const auto twice = fault_of(with_more("  placement: [tensor, data, data]\n"));
  expect_at(twice, 10, 29, "strategy.placement");
  EXPECT_EQ(twice.problem, "A dimension occurs twice.");
  EXPECT_EQ(fault_of(with_more("  placement: [tensor, data, pipelin]\n")).nearest, "pipeline");
  EXPECT_EQ(fault_of(with_more("  placement: tensor\n")).read, "\"tensor\"");
  EXPECT_EQ(fault_of(with_more("  placement: [tensor, [data], pipeline]\n")).read, "a list");
}

TEST(ScenarioErrors, ShapesMustBeConsistent) {
  EXPECT_THAT(fault_of(with_line(2, "model: {layers: 2, hidden: 100, heads: 3, sequence_length: 8}")).problem,
              HasSubstr("3 heads do not divide the width 100"));
  EXPECT_THAT(fault_of(with_line(2, "model: {layers: 2, hidden: 96, heads: 8, key_value_heads: 3, sequence_length: 8}"))
                  .problem,
              HasSubstr("3 key and value heads do not divide 8 heads"));
  EXPECT_THAT(fault_of(with_line(2, "model: {layers: 2, hidden: 96, heads: 8}")).problem,
              HasSubstr("\"sequence_length\""));
  EXPECT_THAT(fault_of(with_line(2, "model: {hidden: 96, heads: 8}")).problem, HasSubstr("\"layers\""));
  EXPECT_THAT(fault_of(with_line(2, "model: {custom: {forward: 2 ms}, layers: 4}")).problem,
              HasSubstr("\"input_gradient\""));
  EXPECT_THAT(fault_of(with_line(2, "model: {base: x32, hugging_face: a.json}")).problem, HasSubstr("one origin"));
}

TEST(ScenarioErrors, NodesMustBeConsistent) {
  const auto node = [](const std::string& change) {
    return fault_of(with_line(4, "  node: {base: dgx-a100-80gb, " + change + "}"));
  };
  EXPECT_EQ(node("device_link_domain: 3").key, "cluster.node.device_link_domain");
  EXPECT_EQ(node("nics: 9").key, "cluster.node.nics");
  EXPECT_EQ(node("nics: 0").key, "cluster.node");
  EXPECT_EQ(node("host_path: {base: pcie4, shared_by: 0}").key, "cluster.node.host_path.shared_by");
  EXPECT_EQ(node("accelerator: a100").nearest, "a100-sxm-40gb");
  EXPECT_EQ(node("accelerator: a100-sxm-80").nearest, "a100-sxm-80gb");
  EXPECT_EQ(node("accelerator: {base: a100-sxm-80gb, peak: {fp166: 1 TFLOP/s}}").nearest, "fp16");
  EXPECT_THAT(fault_of(with_line(6, "")).problem, HasSubstr("\"network\" is missing"));
}

TEST(ScenarioErrors, AComputeTypeNeedsAPeakRate) {
  const auto fault = fault_of(with_more("  precision: {compute: fp8}\n"));
  expect_at(fault, 10, 24, "strategy.precision.compute");
  EXPECT_EQ(fault.allowed, "fp32, tf32, fp16 or bf16");
}

TEST(ScenarioErrors, TrainingAndReferenceAreChecked) {
  EXPECT_EQ(fault_of(with_more("training: {steps: 1, tokens: 2}\n")).problem, "The length is given twice.");
  EXPECT_EQ(fault_of(with_more("training: {batch_law: none}\n")).problem, "The length is not given.");
  EXPECT_EQ(fault_of(with_more("training: {steps: 0}\n")).problem, "The value must not be zero.");
  EXPECT_EQ(fault_of(with_more("training: {steps: 1, batch_law: kaplan}\n")).allowed,
            "none, layered_modular_2021 or kaplan_2020");
  const auto value = [](const std::string& text) {
    return fault_of(with_more("reference: {source: s, values: {" + text + "}}\n"));
  };
  EXPECT_EQ(value("step.time_s: 3").problem, "The number has no unit.");
  EXPECT_EQ(value("memory.breakdown_bytes.state: 4").problem, "The number has no unit.");
  EXPECT_THAT(value("step.efficiency: 3 s").problem, HasSubstr("after the number"));
  EXPECT_THAT(value("Efficiency: 3").problem, HasSubstr("no name of a figure"));
  EXPECT_THAT(value("step.efficiency: {value: 1, expected_difference: 0.1}").problem,
              HasSubstr("\"reason\" is missing"));
  EXPECT_EQ(value("step.efficiency: {valu: 1}").nearest, "value");
  EXPECT_THAT(fault_of(with_more("reference: {values: {step.efficiency: 1}}\n")).problem,
              HasSubstr("\"source\" is missing"));
  EXPECT_EQ(fault_of(with_more("reference: {source: s, values: 3}\n")).read, "\"3\"");
}

TEST(ScenarioErrors, SuggestOurNamesForThoseOfOtherTools) {
  EXPECT_EQ(fault_of(good_scenario(), {{"schedule", "1f1b"}}).nearest, "one_forward_one_backward");
  EXPECT_EQ(fault_of(good_scenario(), {{"schedule", "looped-BFS"}}).nearest, "layered_modular");
  EXPECT_EQ(fault_of(good_scenario(), {{"strategy.sharding", "zero-3"}}).nearest, "full");
  EXPECT_EQ(fault_of(good_scenario(), {{"strategy.sharding", "fsdp"}}).nearest, "full");
  EXPECT_EQ(fault_of(good_scenario(), {{"schedule", "acumulate"}}).nearest, "accumulate");
  EXPECT_EQ(fault_of(good_scenario(), {{"schedule", "zbv"}}).nearest, "") << "not among the fixture's schedules";
}

}  // namespace
}  // namespace lamina::scenario
