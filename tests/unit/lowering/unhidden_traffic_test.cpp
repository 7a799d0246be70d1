// Gradients that no compute hides, in a pipeline: Megatron-LM and DeepSpeed reduce them behind the last backward pass
// and message of a rank, so that a step holds one rank's reductions, not those of all ranks one after the other.
#include <gtest/gtest.h>

#include "sim/pipeline/simulate.hpp"
#include "tests/support/random_scenario.hpp"

namespace lamina {
namespace {

constexpr int kLayers = 8;
constexpr double kDelay = 0.25;

using scenario::ShardingLevel;

struct Case {
  scenario::PointToPoint messages = scenario::PointToPoint::kSeparateStreams;
  ShardingLevel level = ShardingLevel::kNone;
};

double step_of(int pipeline_ranks, int replicas, const Case& with) {
  scenario::Scenario scenario = tests::delayed_scenario(pipeline_ranks, kLayers, kDelay);
  scenario.cluster.nodes = pipeline_ranks * replicas;
  scenario.strategy.data_parallel = replicas;
  scenario.strategy.overlap.reduce = false;
  scenario.strategy.overlap.restore = false;
  scenario.strategy.sharding.level = with.level;
  scenario.strategy.point_to_point = with.messages;
  const auto result = pipeline::simulate(scenario, pipeline::builtin_catalogs());
  return result.value().report.step_s;
}

class UnhiddenTraffic : public ::testing::TestWithParam<Case> {};

// One rank reduces (and gathers) all layers; of four ranks each a quarter.
TEST_P(UnhiddenTraffic, OfOneRankIsInAStep) {
  const double of_all_layers = step_of(1, 2, GetParam()) - step_of(1, 1, GetParam());
  EXPECT_GE(of_all_layers, kLayers * kDelay) << "at least one message for each layer";
  for (const int ranks : {2, 4, 8}) {
    EXPECT_NEAR(step_of(ranks, 2, GetParam()) - step_of(ranks, 1, GetParam()), of_all_layers / ranks, 1e-6) << ranks;
  }
}

INSTANTIATE_TEST_SUITE_P(Messages, UnhiddenTraffic,
                         ::testing::Values(Case{scenario::PointToPoint::kSeparateStreams, ShardingLevel::kNone},
                                           Case{scenario::PointToPoint::kFusedRendezvous, ShardingLevel::kNone},
                                           Case{scenario::PointToPoint::kEarlyPosted, ShardingLevel::kNone},
                                           Case{scenario::PointToPoint::kSeparateStreams, ShardingLevel::kOptimizer},
                                           Case{scenario::PointToPoint::kFusedRendezvous, ShardingLevel::kOptimizer}));

}  // namespace
}  // namespace lamina
