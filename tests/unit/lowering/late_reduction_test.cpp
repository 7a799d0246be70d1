// Gradients that no compute hides, in a pipeline: Megatron-LM and DeepSpeed reduce them behind the last backward pass
// and message of a rank, so that a step holds one rank's reductions, not those of all ranks one after the other.
#include <gtest/gtest.h>

#include "sim/pipeline/simulate.hpp"
#include "tests/support/random_scenario.hpp"

namespace lamina {
namespace {

constexpr int kLayers = 8;
constexpr double kDelay = 0.25;

double step_of(int pipeline_ranks, int replicas, scenario::PointToPoint messages) {
  scenario::Scenario scenario = tests::delayed_scenario(pipeline_ranks, kLayers, kDelay);
  scenario.cluster.nodes = pipeline_ranks * replicas;
  scenario.strategy.data_parallel = replicas;
  scenario.strategy.overlap.reduce = false;
  scenario.strategy.point_to_point = messages;
  const auto result = pipeline::simulate(scenario, pipeline::builtin_catalogs());
  return result.value().report.step_s;
}

class LateReduction : public ::testing::TestWithParam<scenario::PointToPoint> {};

// One rank reduces all layers; of four ranks each a quarter, the first one last.
TEST_P(LateReduction, AStepEndsWithTheReductionsOfOneRank) {
  const double of_all_layers = step_of(1, 2, GetParam()) - step_of(1, 1, GetParam());
  EXPECT_GE(of_all_layers, kLayers * kDelay) << "at least one message for each layer";
  for (const int ranks : {2, 4, 8}) {
    EXPECT_NEAR(step_of(ranks, 2, GetParam()) - step_of(ranks, 1, GetParam()), of_all_layers / ranks, 1e-6) << ranks;
  }
}

INSTANTIATE_TEST_SUITE_P(Messages, LateReduction,
                         ::testing::Values(scenario::PointToPoint::kSeparateStreams,
                                           scenario::PointToPoint::kFusedRendezvous,
                                           scenario::PointToPoint::kEarlyPosted));

}  // namespace
}  // namespace lamina
