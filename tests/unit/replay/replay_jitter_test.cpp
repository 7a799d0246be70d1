#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "sim/replay/jitter.hpp"
#include "sim/replay/replay.hpp"
#include "tests/unit/replay/scene.hpp"

namespace lamina::replay {
namespace {

using testing::Scene;

deployment::Rank rank_of(int program, int data, int tensor) {
  deployment::Rank rank;
  rank.program = program;
  rank.data = data;
  rank.tensor = tensor;
  return rank;
}

/// Factors of 100,000 operations, spread over ranks and repeats.
std::vector<double> draw(Jitter jitter) {
  std::vector<double> factors;
  for (int i = 0; i < 100'000; ++i) {
    jitter.repeat = static_cast<std::uint64_t>(i % 10);
    factors.push_back(
        factor_of(jitter, rank_of(i / 10 % 4, i / 40 % 5, i / 200 % 2), static_cast<std::uint32_t>(i / 400)));
  }
  return factors;
}

struct Moments {
  double mean = 0;
  double deviation = 0;
};

Moments moments_of(const std::vector<double>& values) {
  const auto n = static_cast<double>(values.size());
  Moments moments;
  for (const double value : values) {
    moments.mean += value / n;
  }
  for (const double value : values) {
    moments.deviation += (value - moments.mean) * (value - moments.mean) / n;
  }
  moments.deviation = std::sqrt(moments.deviation);
  return moments;
}

// Mean 1 and deviation sigma by construction; half of the factors below exp(-s^2/2), the median of the distribution.
// Tolerances are four standard errors, sigma / sqrt(n) for the mean and, for these shapes, below 2 % for the deviation.
TEST(JitterFactor, IsLogNormalWithMeanOneAndTheDeviationAskedFor) {
  const double sigma = 0.2;
  const std::vector<double> factors = draw({.standard_deviation = sigma});
  EXPECT_NEAR(moments_of(factors).mean, 1, 4 * sigma / std::sqrt(1e5));
  EXPECT_NEAR(moments_of(factors).deviation, sigma, 0.02 * sigma);
  const double median = std::exp(-std::log1p(sigma * sigma) / 2);
  const auto below = std::count_if(factors.begin(), factors.end(), [&](double factor) { return factor < median; });
  EXPECT_NEAR(static_cast<double>(below) / 1e5, 0.5, 4 * 0.5 / std::sqrt(1e5));
}

// P(factor > 1 + t) = exp(-t / sigma), and never below 1.
TEST(JitterFactor, HasAnExponentialTail) {
  const double sigma = 0.5;
  const std::vector<double> factors =
      draw({.distribution = scenario::JitterDistribution::kExponential, .standard_deviation = sigma});
  EXPECT_GE(*std::min_element(factors.begin(), factors.end()), 1);
  EXPECT_NEAR(moments_of(factors).mean, 1 + sigma, 4 * sigma / std::sqrt(1e5));
  for (const double tail : {0.1, 0.5, 1.0, 2.0}) {
    const double expected = std::exp(-tail / sigma);
    const auto above = std::count_if(factors.begin(), factors.end(), [&](double factor) { return factor > 1 + tail; });
    EXPECT_NEAR(static_cast<double>(above) / 1e5, expected, 4 * std::sqrt(expected * (1 - expected) / 1e5)) << tail;
  }
}

TEST(JitterFactor, DependsOnEveryPartOfTheIdentityAndOnNothingElse) {
  const Jitter jitter{.standard_deviation = 0.1, .seed = 7, .repeat = 3};
  const double factor = factor_of(jitter, rank_of(1, 2, 3), 4);
  EXPECT_EQ(factor_of(jitter, rank_of(1, 2, 3), 4), factor);
  deployment::Rank elsewhere = rank_of(1, 2, 3);
  elsewhere.device = 99;
  EXPECT_EQ(factor_of(jitter, elsewhere, 4), factor);
  EXPECT_NE(factor_of(jitter, rank_of(2, 2, 3), 4), factor);
  EXPECT_NE(factor_of(jitter, rank_of(1, 1, 3), 4), factor);
  EXPECT_NE(factor_of(jitter, rank_of(1, 2, 2), 4), factor);
  EXPECT_NE(factor_of(jitter, rank_of(1, 2, 3), 5), factor);
  EXPECT_NE(factor_of({.standard_deviation = 0.1, .seed = 8, .repeat = 3}, rank_of(1, 2, 3), 4), factor);
  EXPECT_NE(factor_of({.standard_deviation = 0.1, .seed = 7, .repeat = 4}, rank_of(1, 2, 3), 4), factor);
}

/// Rank 0 computes 1 s and sends 1e9 B over 1e9 B/s and 0.5 s of latency; rank 1 receives.
Scene compute_and_send() {
  Scene scene;
  const int sender = scene.rank();
  const int receiver = scene.rank();
  const auto [out, in] = scene.channel(sender, receiver, scene.path({scene.link(1e9)}, 0.5));
  const int sending = scene.stream(sender);
  scene.compute(sender, sending, 1);
  scene.message(sender, sending, out, 1e9);
  scene.message(receiver, scene.stream(receiver), in, 1e9);
  return scene;
}

TEST(Jitter, StretchesComputeAndTheWholeTransferByTheSendersFactors) {
  const Scene scene = compute_and_send();
  Options options;
  options.jitter = Jitter{.standard_deviation = 0.3, .seed = 5, .repeat = 2};
  const double compute = factor_of(*options.jitter, scene.deployment.ranks[0], 0);
  const double message = factor_of(*options.jitter, scene.deployment.ranks[0], 1);
  const timeline::Timeline timeline = scene.run(options);
  EXPECT_NEAR(timeline.spans[0][0].end, compute, 1e-9);
  EXPECT_NEAR(timeline.end_s, compute + 1.5 * message, 1e-9);
  EXPECT_EQ(scene.run(options).end_s, timeline.end_s);
}

TEST(Jitter, TakesTheFactorOfTheFirstMemberForACollective) {
  Scene scene;
  const int a = scene.rank();
  const int b = scene.rank();
  for (const int rank : {b, a}) {
    scene.collective(rank, scene.stream(rank), graph::CollectiveKind::kAllReduce, 1e9);
  }
  const int path = scene.path({scene.link(1e9)});
  deployment::Group& group = scene.group(graph::GroupKind::kData, {a, b}, 2);
  group.steps[static_cast<std::size_t>(graph::CollectiveKind::kAllReduce)] = {{path, 2.0}};
  Options options;
  options.jitter = Jitter{.standard_deviation = 0.3};
  EXPECT_NEAR(scene.run(options).end_s, 2 * factor_of(*options.jitter, scene.deployment.ranks[Scene::index(a)], 0),
              1e-9);
}

}  // namespace
}  // namespace lamina::replay
