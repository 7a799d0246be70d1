// The work on which ASTRA-sim was measured (scenarios/published/peers-2026): the simulated step lies between
// closed-form bounds, agrees with the congestion-unaware figure where that is comparable, and does not depend on
// folding.
#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "sim/pipeline/simulate.hpp"
#include "sim/scenario/load.hpp"
#include "tests/support/paths.hpp"

namespace lamina {
namespace {

constexpr double kPort = 50.0 * (1U << 30U);  // bytes per second
constexpr double kActivation = 33554432;
constexpr double kStageGradients = 1619001344;
constexpr int kMicroBatches = 64;

struct Work {
  std::string file;
  int pipeline;
  int data;
  int tensor;
};

pipeline::Result simulate(const Work& work, bool fold) {
  const auto scenarios = tests::source_folder() / "scenarios";
  const pipeline::Catalogs catalogs = pipeline::builtin_catalogs();
  const scenario::Scenario scenario =
      scenario::load_file(scenarios / "published/peers-2026" / (work.file + ".yaml"), scenarios,
                          pipeline::plugins_of(catalogs), {{"simulation.fold", fold ? "true" : "false"}});
  auto result = pipeline::simulate(scenario, catalogs);
  if (!result) {
    throw std::runtime_error(result.error().reason);
  }
  return std::move(*result);
}

/// Seconds of one half of a layer's pass, whole microseconds as in the traces; of the whole pass without tensor groups.
double compute_s(const Work& work, double stage_us) {
  return 1e-6 * (work.tensor == 1 ? stage_us : 8 * std::floor(std::floor(stage_us / work.tensor) / 8));
}

/// 1F1B with free communication (the generator's compute_bound_us): every stage runs all its passes, and the last stage
/// can start only after a forward pass of each other one, the first end only after a backward pass of each.
double lower_bound_s(const Work& work) {
  return (kMicroBatches + work.pipeline - 1) * (compute_s(work, 16500) + compute_s(work, 33000)) + 10e-3;
}

/// Ring all-reduce alone: 2 (n - 1) steps of 1/n of the bytes and one latency each.
double all_reduce_s(double bytes, int members, double bandwidth, double latency_s) {
  return 2.0 * (members - 1) * (bytes / members / bandwidth + latency_s);
}

/// Everything serialised: 1F1B with each pass made longer by all its communication, then the reduction. No dependency
/// is dropped by that, and no flow can be slower than its share of a port that all flows of a device use at once: two
/// messages, the tensor group's and the replicas'.
double upper_bound_s(const Work& work) {
  constexpr double kLatency = 2e-6;
  constexpr double kFlowsAtOnce = 4;
  const double message = kLatency + kFlowsAtOnce * kActivation / work.tensor / kPort;
  const double tensor =
      work.tensor == 1 ? 0 : 8 * kFlowsAtOnce * all_reduce_s(kActivation, work.tensor, kPort, kLatency);
  const double data =
      work.data == 1 ? 0
                     : kFlowsAtOnce * 4 * all_reduce_s(kStageGradients / work.tensor / 4, work.data, kPort, kLatency);
  const double norms = 1e-3;  // of all gradients: a few numbers over the tensor group and the pipeline
  return lower_bound_s(work) + (kMicroBatches + work.pipeline - 1) * 2 * (message + tensor) + data + norms;
}

class PeersWork : public ::testing::TestWithParam<Work> {};

TEST_P(PeersWork, TakesAStepBetweenItsBoundsAndNearTheCongestionUnawareFigure) {
  const pipeline::Result result = simulate(GetParam(), true);
  EXPECT_GE(result.report.step_s, lower_bound_s(GetParam()));
  EXPECT_LE(result.report.step_s, upper_bound_s(GetParam()));
  EXPECT_EQ(result.prepared.whole_ranks, GetParam().pipeline * GetParam().data * GetParam().tensor);
  EXPECT_EQ(result.prepared.deployment.ranks.size(), static_cast<std::size_t>(GetParam().pipeline));
  ASSERT_EQ(result.report.reference.size(), 1U);
  EXPECT_TRUE(result.report.reference[0].agrees)
      << "simulated " << result.report.reference[0].measured << " s, ASTRA-sim "
      << result.report.reference[0].reference.value << " s";
}

INSTANTIATE_TEST_SUITE_P(Astra, PeersWork,
                         ::testing::Values(Work{"a64", 8, 8, 1}, Work{"a512", 8, 64, 1}, Work{"a1024", 8, 128, 1},
                                           Work{"a4096", 8, 512, 1}, Work{"b64", 8, 1, 8}, Work{"b512", 8, 8, 8},
                                           Work{"p16384", 128, 128, 1}),
                         [](const auto& work) { return work.param.file; });

class SmallPeersWork : public ::testing::TestWithParam<Work> {};

TEST_P(SmallPeersWork, TakesTheSameStepFoldedAndUnfolded) {
  const double folded = simulate(GetParam(), true).timeline.end_s;
  const pipeline::Result whole = simulate(GetParam(), false);
  EXPECT_EQ(whole.prepared.deployment.ranks.size(), 64U);
  EXPECT_NEAR(folded, whole.timeline.end_s, 1e-9 * folded);
}

INSTANTIATE_TEST_SUITE_P(Astra, SmallPeersWork, ::testing::Values(Work{"a64", 8, 8, 1}, Work{"b64", 8, 1, 8}),
                         [](const auto& work) { return work.param.file; });

}  // namespace
}  // namespace lamina
