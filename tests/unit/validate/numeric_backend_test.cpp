#include "validate/numeric/numeric_backend.hpp"

#include <algorithm>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/error/error.hpp"
#include "tests/support/numeric_step.hpp"
#include "tests/support/random_scenario.hpp"
#include "validate/execute.hpp"
#include "validate/issue_order.hpp"

namespace lamina::validate::numeric {
namespace {

using graph::OperationKind;
using graph::Phase;

scenario::Scenario two_ranks() {
  scenario::Scenario scenario = tests::tiny_decoder(2);
  scenario.strategy.pipeline_parallel = 2;
  scenario.strategy.micro_batches = 2;
  scenario.strategy.schedule = tests::choose_schedule("gpipe");
  return scenario;
}

pipeline::Prepared prepared_of(const scenario::Scenario& scenario) {
  auto prepared = tests::prepare_whole(scenario);
  EXPECT_TRUE(prepared.has_value());
  return std::move(*prepared);
}

/// First operation of a rank that matches.
template <class Match>
std::uint32_t find(const pipeline::Prepared& prepared, std::size_t rank, Match match) {
  const auto& operations = prepared.graph.programs[rank].operations;
  return static_cast<std::uint32_t>(std::find_if(operations.begin(), operations.end(), match) - operations.begin());
}

/// What launching one operation before everything else says.
std::string fault_of(const scenario::Scenario& scenario, const pipeline::Prepared& prepared, std::int32_t rank,
                     std::uint32_t operation) {
  const auto backend = make_numeric_backend(scenario, prepared.table, prepared.graph, prepared.deployment);
  try {
    (*backend)->launch(rank, operation);
  } catch (const error::InternalError& fault) {
    return fault.what();
  }
  return "";
}

bool computes(const graph::Operation& operation, Phase phase, int layer) {
  return operation.kind == OperationKind::kCompute && operation.phase == phase && operation.layer == layer;
}

TEST(NumericBackend, ComputesTheSameStepAgainAfterItHasFinished) {
  const scenario::Scenario scenario = two_ranks();
  const pipeline::Prepared prepared = prepared_of(scenario);
  const auto backend = make_numeric_backend(scenario, prepared.table, prepared.graph, prepared.deployment);
  const IssueOrder order = issue_order(prepared.graph);
  const Execution first = execute(prepared.graph, prepared.deployment, order, **backend);
  const Step step = (*backend)->step();
  (void)execute(prepared.graph, prepared.deployment, order, **backend);
  EXPECT_EQ(step.loss, (*backend)->step().loss);
  EXPECT_EQ(step.copies.front().weights, (*backend)->step().copies.front().weights);
  EXPECT_EQ(first.timeline.activities, static_cast<std::int64_t>(prepared.graph.size()));
}

TEST(NumericBackend, NamesTheOperationAndTheActivationsThatAreMissing) {
  const scenario::Scenario scenario = two_ranks();
  const pipeline::Prepared prepared = prepared_of(scenario);
  const std::uint32_t forward =
      find(prepared, 1, [](const graph::Operation& operation) { return computes(operation, Phase::kForward, 1); });
  EXPECT_THAT(fault_of(scenario, prepared, 1, forward),
              testing::AllOf(testing::HasSubstr("rank 1: forward, stage 1, layer 1, micro-batch 0"),
                             testing::HasSubstr("no activations received for stage 1, micro-batch 0")));
}

TEST(NumericBackend, NamesWeightsThatWereNotRestored) {
  scenario::Scenario scenario = two_ranks();
  scenario.strategy.data_parallel = 2;
  scenario.strategy.sharding.level = scenario::ShardingLevel::kOptimizer;
  const pipeline::Prepared prepared = prepared_of(scenario);
  const std::uint32_t forward =
      find(prepared, 0, [](const graph::Operation& operation) { return computes(operation, Phase::kForward, -1); });
  EXPECT_THAT(fault_of(scenario, prepared, 0, forward),
              testing::HasSubstr("the weights of the embedding (stage 0) are not here"));
}

TEST(NumericBackend, RefusesAnUpdateBeforeItsGradient) {
  scenario::Scenario scenario = two_ranks();
  scenario.strategy.update = scenario::Update::kWithReduction;
  const pipeline::Prepared prepared = prepared_of(scenario);
  const std::uint32_t update =
      find(prepared, 0, [](const graph::Operation& operation) { return computes(operation, Phase::kUpdate, 0); });
  EXPECT_THAT(fault_of(scenario, prepared, 0, update), testing::HasSubstr("there is no gradient of layer 0 (stage 0)"));
}

TEST(NumericBackend, RefusesAnUpdateBeforeTheGlobalNorm) {
  const scenario::Scenario scenario = two_ranks();
  const pipeline::Prepared prepared = prepared_of(scenario);
  const std::uint32_t update =
      find(prepared, 0, [](const graph::Operation& operation) { return computes(operation, Phase::kUpdate, 0); });
  EXPECT_THAT(fault_of(scenario, prepared, 0, update), testing::HasSubstr("the global norm is not known yet"));
}

TEST(NumericBackend, RefusesToWaitForWhatWasNotLaunched) {
  const scenario::Scenario scenario = two_ranks();
  const pipeline::Prepared prepared = prepared_of(scenario);
  const auto backend = make_numeric_backend(scenario, prepared.table, prepared.graph, prepared.deployment);
  EXPECT_THROW((*backend)->wait(0, 1, 0), error::InternalError);
}

TEST(NumericBackend, SaysWhatIsLeftWhenTheStepEndsEarly) {
  const scenario::Scenario scenario = two_ranks();
  const pipeline::Prepared prepared = prepared_of(scenario);
  const auto backend = make_numeric_backend(scenario, prepared.table, prepared.graph, prepared.deployment);
  const std::uint32_t forward =
      find(prepared, 0, [](const graph::Operation& operation) { return computes(operation, Phase::kForward, -1); });
  (*backend)->launch(0, forward);
  EXPECT_THROW((void)(*backend)->finish(), error::InternalError);
}

TEST(NumericBackend, KnowsPlainDecodersOnly) {
  scenario::Scenario scenario = two_ranks();
  const pipeline::Prepared prepared = prepared_of(scenario);
  scenario.model.gated_mlp = true;
  const auto backend = make_numeric_backend(scenario, prepared.table, prepared.graph, prepared.deployment);
  ASSERT_FALSE(backend.has_value());
  EXPECT_THAT(backend.error().reason, testing::HasSubstr("tiny"));
}

TEST(NumericBackend, SeesWrongNumbersWhereNothingIsMissing) {
  // One sequence too many in the reference: the comparison must not be blind.
  const scenario::Scenario scenario = two_ranks();
  const pipeline::Prepared prepared = prepared_of(scenario);
  const Step step = tests::compute_step(scenario, prepared);
  EXPECT_EQ(tests::find_difference(scenario, step, tests::reference_of(scenario, prepared)), "");
  scenario::Scenario longer = scenario;
  longer.strategy.micro_batches = 3;
  EXPECT_THAT(tests::find_difference(scenario, step, tests::reference_of(longer, prepared)),
              testing::AllOf(testing::HasSubstr("gradients off by"), testing::HasSubstr("weights off by")));
}

}  // namespace
}  // namespace lamina::validate::numeric
