// Folded and whole replays must agree on every operation also when something is wrong with the cluster, and what is
// wrong must always be seen.
#include <algorithm>
#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "sim/pipeline/simulate.hpp"
#include "sim/replay/replay.hpp"
#include "sim/symmetry/fold.hpp"
#include "tests/support/random_disturbances.hpp"
#include "tests/support/random_scenario.hpp"

namespace lamina {
namespace {

constexpr double kTolerance = 1e-9;  ///< relative to the step

struct Replays {
  timeline::Timeline whole;
  timeline::Timeline folded;
  symmetry::Folding folding;
};

pipeline::Prepared prepared_whole(scenario::Scenario scenario) {
  scenario.simulation.fold = false;
  auto prepared = pipeline::prepare(scenario, pipeline::builtin_catalogs());
  EXPECT_TRUE(prepared.has_value()) << (prepared ? "" : prepared.error().reason);
  return std::move(*prepared);
}

Replays replay_both(const scenario::Scenario& scenario) {
  const pipeline::Prepared prepared = prepared_whole(scenario);
  Replays replays;
  replays.folding = symmetry::fold(prepared.deployment);
  replay::Options options;
  options.record_flows = false;
  replays.whole = replay::replay(prepared.graph, prepared.deployment, options);
  replays.folded = replay::replay(prepared.graph, replays.folding.folded, options);
  return replays;
}

double largest_difference(const timeline::Span& a, const timeline::Span& b) {
  return std::max(std::abs(a.start - b.start), std::abs(a.end - b.end));
}

/// Largest difference of any operation's start or end, relative to the step.
double difference(const Replays& replays) {
  double largest = 0;
  for (std::size_t rank = 0; rank < replays.whole.spans.size(); ++rank) {
    const auto& expected = replays.whole.spans[rank];
    const auto& actual = replays.folded.spans[static_cast<std::size_t>(replays.folding.class_of_rank[rank])];
    for (std::size_t i = 0; i < expected.size(); ++i) {
      largest = std::max(largest, largest_difference(expected[i], actual[i]));
    }
  }
  return largest / replays.whole.end_s;
}

/// Whether any operation of any rank runs at another time.
bool differ(const timeline::Timeline& a, const timeline::Timeline& b) {
  for (std::size_t rank = 0; rank < a.spans.size(); ++rank) {
    for (std::size_t i = 0; i < a.spans[rank].size(); ++i) {
      if (largest_difference(a.spans[rank][i], b.spans[rank][i]) > kTolerance * a.end_s) {
        return true;
      }
    }
  }
  return false;
}

/// Times of every rank as the folded replay has them.
timeline::Timeline unfold(const Replays& replays) {
  timeline::Timeline result;
  result.end_s = replays.folded.end_s;
  for (const std::int32_t c : replays.folding.class_of_rank) {
    result.spans.push_back(replays.folded.spans[static_cast<std::size_t>(c)]);
  }
  return result;
}

double step_of(const scenario::Scenario& scenario) {
  return pipeline::simulate(scenario, pipeline::builtin_catalogs())->report.step_s;
}

class DisturbedScenario : public ::testing::TestWithParam<unsigned> {};

TEST_P(DisturbedScenario, FoldedAndWholeReplayAgreeOnEveryOperation) {
  std::mt19937 random(GetParam());
  scenario::Scenario scenario = tests::random_scenario(random);
  tests::add_random_disturbances(random, step_of(scenario), scenario);
  const Replays replays = replay_both(scenario);
  EXPECT_LT(difference(replays), kTolerance)
      << replays.folding.folded.ranks.size() << " classes of " << replays.whole.spans.size() << " ranks";
}

INSTANTIATE_TEST_SUITE_P(Seeds, DisturbedScenario, ::testing::Range(1U, 61U));

// The same on 256 ranks, where one disturbance must leave most of the job folded.
TEST(DisturbedFolding, HoldsOn256RanksAndKeepsMostOfThemFolded) {
  scenario::Scenario scenario = tests::small_scenario();
  scenario.strategy.tensor_parallel = 4;
  scenario.strategy.data_parallel = 32;
  scenario.strategy.pipeline_parallel = 2;
  scenario.strategy.schedule = tests::choose_schedule("one_forward_one_backward");
  scenario.cluster.nodes = 64;
  const double step_s = step_of(scenario);
  std::mt19937 random(5);
  for (int kind = 0; kind < tests::kDisturbanceKinds; ++kind) {
    scenario::Scenario disturbed = scenario;
    tests::add_disturbance(random, static_cast<tests::DisturbanceKind>(kind), step_s, disturbed);
    const Replays replays = replay_both(disturbed);
    EXPECT_LT(difference(replays), kTolerance) << "kind " << kind;
    EXPECT_LT(replays.folding.folded.ranks.size(), 64U) << "kind " << kind;
  }
}

class PlantedAsymmetry : public ::testing::TestWithParam<unsigned> {};

TEST_P(PlantedAsymmetry, IsSeenByTheFoldedReplayExactlyWhenTheWholeOneSeesIt) {
  std::mt19937 random(1000 + GetParam());
  const scenario::Scenario scenario = tests::random_scenario(random);
  const Replays before = replay_both(scenario);
  for (int kind = 0; kind < tests::kDisturbanceKinds; ++kind) {
    scenario::Scenario disturbed = scenario;
    tests::add_disturbance(random, static_cast<tests::DisturbanceKind>(kind), before.whole.end_s, disturbed);
    if (disturbed.disturbances.empty()) {
      continue;
    }
    const Replays after = replay_both(disturbed);
    EXPECT_EQ(differ(before.whole, after.whole), differ(unfold(before), unfold(after))) << "kind " << kind;
    EXPECT_GE(after.folding.folded.ranks.size(), before.folding.folded.ranks.size()) << "kind " << kind;
    const bool on_rank = kind == 0 || kind == 3;
    if (!on_rank) {
      continue;
    }
    const int device =
        kind == 0 ? disturbed.disturbances.slow_devices[0].first_device : disturbed.disturbances.host_delays[0].device;
    const auto touched = std::find_if(before.folding.folded.ranks.begin(), before.folding.folded.ranks.end(),
                                      [&](const auto& rank) { return rank.device == device; });
    const bool had_equals = touched == before.folding.folded.ranks.end() || touched->multiplicity > 1;
    EXPECT_EQ(after.folding.folded.ranks.size() > before.folding.folded.ranks.size(), had_equals) << "kind " << kind;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, PlantedAsymmetry, ::testing::Range(1U, 21U));

}  // namespace
}  // namespace lamina
