// Folded and whole replays must agree on every operation: the theorem of docs/architecture.md on random scenarios.
#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "sim/deployment/deployment.hpp"
#include "sim/pipeline/simulate.hpp"
#include "sim/replay/replay.hpp"
#include "sim/symmetry/fold.hpp"
#include "tests/support/random_scenario.hpp"

namespace lamina {
namespace {

/// Largest difference of any operation's start or end, relative to the step.
double largest_difference(const timeline::Timeline& whole, const timeline::Timeline& folded,
                          const std::vector<std::int32_t>& class_of_rank) {
  double largest = 0;
  for (std::size_t rank = 0; rank < whole.spans.size(); ++rank) {
    const auto& expected = whole.spans[rank];
    const auto& actual = folded.spans[static_cast<std::size_t>(class_of_rank[rank])];
    for (std::size_t i = 0; i < expected.size(); ++i) {
      largest =
          std::max({largest, std::abs(expected[i].start - actual[i].start), std::abs(expected[i].end - actual[i].end)});
    }
  }
  return largest / whole.end_s;
}

class RandomScenario : public ::testing::TestWithParam<unsigned> {};

TEST_P(RandomScenario, FoldedAndWholeReplayAgreeOnEveryOperation) {
  std::mt19937 random(GetParam());
  const pipeline::Catalogs catalogs = pipeline::builtin_catalogs();
  scenario::Scenario scenario = tests::random_scenario(random);
  if (GetParam() % 3 == 0) {
    tests::draw_protocols(scenario, random);
  }
  scenario.simulation.fold = false;
  const auto prepared = pipeline::prepare(scenario, catalogs);
  ASSERT_TRUE(prepared.has_value()) << prepared.error().reason;
  const symmetry::Folding folding = symmetry::fold(prepared->deployment);
  const timeline::Timeline whole = replay::replay(prepared->graph, prepared->deployment);
  const timeline::Timeline folded = replay::replay(prepared->graph, folding.folded);
  EXPECT_LE(folding.folded.ranks.size(), prepared->deployment.ranks.size());
  EXPECT_LT(largest_difference(whole, folded, folding.class_of_rank), 1e-9)
      << folding.folded.ranks.size() << " classes of " << prepared->deployment.ranks.size() << " ranks";
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomScenario, ::testing::Range(1U, 61U));

TEST(Folding, LeavesOneRankPerPipelineRankOfAUniformCluster) {
  scenario::Scenario scenario = tests::small_scenario();
  scenario.strategy.data_parallel = 4;
  scenario.strategy.tensor_parallel = 4;
  scenario.cluster.nodes = 4;
  const auto prepared = pipeline::prepare(scenario, pipeline::builtin_catalogs());
  ASSERT_TRUE(prepared.has_value());
  ASSERT_EQ(prepared->deployment.ranks.size(), 1U);
  EXPECT_EQ(prepared->deployment.ranks[0].multiplicity, 16);
  EXPECT_EQ(prepared->deployment.total_ranks, 16);
}

TEST(Folding, SplitsOnlyWhatOneSlowDeviceTouches) {
  scenario::Scenario scenario = tests::small_scenario();
  scenario.strategy.data_parallel = 8;
  scenario.cluster.nodes = 8;
  scenario.cluster.node.devices = 1;
  scenario.cluster.node.device_link_domain = 1;
  scenario.cluster.node.nics = 1;
  scenario.simulation.fold = false;
  auto prepared = pipeline::prepare(scenario, pipeline::builtin_catalogs());
  ASSERT_TRUE(prepared.has_value());
  prepared->deployment.ranks[3].slowness = 1.5;
  const symmetry::Folding folding = symmetry::fold(prepared->deployment);
  ASSERT_EQ(folding.folded.ranks.size(), 2U);
  EXPECT_EQ(folding.folded.ranks[0].multiplicity, 7);
  EXPECT_EQ(folding.folded.ranks[1].multiplicity, 1);
  ASSERT_EQ(folding.reasons.size(), 1U);
  EXPECT_NE(folding.reasons[0].find("device speed"), std::string::npos);
}

}  // namespace
}  // namespace lamina
