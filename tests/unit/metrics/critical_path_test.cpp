#include "sim/metrics/critical_path.hpp"

#include <numeric>
#include <random>

#include <gtest/gtest.h>

#include "tests/unit/metrics/tiny_step.hpp"

namespace lamina::metrics {
namespace {

using graph::StreamKind;
using graph::Traffic;
using metrics::testing::TinyStep;

double traffic(const report::CriticalPath& path, Traffic which) {
  return path.traffic_s[static_cast<std::size_t>(which)];
}

double sum(const report::CriticalPath& path) {
  return path.compute_s + std::accumulate(path.traffic_s.begin(), path.traffic_s.end(), 0.0);
}

TEST(CriticalPath, OfGPipeWithoutNetworkIsAllCompute) {
  TinyStep tiny = testing::gpipe(4, 8, 1, 2);
  const report::CriticalPath path = critical_path(tiny.finish().step());
  EXPECT_DOUBLE_EQ(path.compute_s, 33);
  EXPECT_DOUBLE_EQ(sum(path), 33);
}

// One micro-batch visits every stage twice and crosses 2 (p - 1) boundaries.
TEST(CriticalPath, CrossesEveryBoundaryTwiceForOneMicroBatch) {
  TinyStep tiny = testing::gpipe(4, 1, 1, 2, 0.25);
  const report::CriticalPath path = critical_path(tiny.finish().step());
  EXPECT_DOUBLE_EQ(path.compute_s, 4 * (1 + 2));
  EXPECT_DOUBLE_EQ(traffic(path, Traffic::kPipeline), 2 * 3 * 0.25);
}

TEST(CriticalPath, JumpsToTheMemberOfACollectiveThatCameLast) {
  TinyStep tiny(3);
  tiny.compute(0, 1);
  const auto slow = tiny.compute(1, 5);
  const auto ids = tiny.collective_of_all(2, Traffic::kReduce, {{}, {slow}, {}});
  tiny.compute(2, 3, {ids[2]});
  const report::CriticalPath path = critical_path(tiny.finish().step());
  EXPECT_DOUBLE_EQ(path.compute_s, 8);
  EXPECT_DOUBLE_EQ(traffic(path, Traffic::kReduce), 2);
}

TEST(CriticalPath, PrefersComputeWhenBothEndTogether) {
  TinyStep tiny(1);
  const auto restore = tiny.collective(0, Traffic::kRestore, 3);
  const auto work = tiny.compute(0, 3);
  tiny.compute(0, 1, {restore, work});
  const report::CriticalPath path = critical_path(tiny.finish().step());
  EXPECT_DOUBLE_EQ(path.compute_s, 4);
  EXPECT_DOUBLE_EQ(traffic(path, Traffic::kRestore), 0);
}

TEST(CriticalPath, PassesThroughOperationsWithoutDuration) {
  TinyStep tiny(2);
  auto last = tiny.compute(0, 2);
  for (int k = 0; k < 50; ++k) {
    const auto [send, receive] = tiny.message(k % 2, 1 - k % 2, 0, {last});
    last = tiny.compute(1 - k % 2, 0, {receive});
  }
  const report::CriticalPath path = critical_path(tiny.finish().step());
  EXPECT_DOUBLE_EQ(path.compute_s, 2);
  EXPECT_DOUBLE_EQ(sum(path), 2);
}

TEST(CriticalPath, ChargesAnUnexplainedWaitToTheOperationThatWaited) {
  TinyStep tiny(1);
  const auto work = tiny.compute(0, 2);
  const auto reduce = tiny.collective(0, Traffic::kReduce, 3, {work});
  tiny.finish();
  tiny.timeline.spans[0][reduce] = {4, 7};  // two seconds after what it depends on
  tiny.timeline.end_s = 7;
  const report::CriticalPath path = critical_path(tiny.step());
  EXPECT_DOUBLE_EQ(path.compute_s, 2);
  EXPECT_DOUBLE_EQ(traffic(path, Traffic::kReduce), 5);
}

/// Random messages and computations of random length. `parts` carries, forwards, what the longest chain that ends with
/// each operation consists of: another way to the same answer.
TEST(CriticalPath, EqualsTheLongestChainFoundForwards) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    std::mt19937 engine(seed);
    std::uniform_real_distribution<double> duration(0.1, 5);
    const auto pick = [&](int bound) { return static_cast<int>(engine() % static_cast<unsigned>(bound)); };

    struct Parts {
      double end = 0;
      double compute = 0;
      double pipeline = 0;
    };

    constexpr int kRanks = 3;
    TinyStep tiny(kRanks);
    std::vector<std::vector<Parts>> parts(kRanks);
    Parts tail_of[kRanks][3];  // compute, send, receive
    const auto latest = [](const Parts& a, const Parts& b) { return a.end >= b.end ? a : b; };
    for (int k = 0; k < 200; ++k) {
      const int rank = pick(kRanks);
      const auto after = [&](int owner) {
        std::vector<TinyStep::Id> ids;
        if (!parts[static_cast<std::size_t>(owner)].empty()) {
          ids.push_back(
              static_cast<TinyStep::Id>(pick(static_cast<int>(parts[static_cast<std::size_t>(owner)].size()))));
        }
        return ids;
      };
      const auto before = [&](int owner, int stream, const std::vector<TinyStep::Id>& ids) {
        Parts result = tail_of[owner][stream];
        for (const auto id : ids) {
          result = latest(result, parts[static_cast<std::size_t>(owner)][id]);
        }
        return result;
      };
      const double length = duration(engine);
      const auto ids = after(rank);
      if (pick(2) == 0) {
        tiny.compute(rank, length, ids);
        Parts now = before(rank, 0, ids);
        now.end += length;
        now.compute += length;
        tail_of[rank][0] = now;
        parts[static_cast<std::size_t>(rank)].push_back(now);
      } else {
        const int other = (rank + 1 + pick(kRanks - 1)) % kRanks;
        const auto other_ids = after(other);
        tiny.message(rank, other, length, ids, other_ids);
        Parts now = latest(before(rank, 1, ids), before(other, 2, other_ids));
        now.end += length;
        now.pipeline += length;
        tail_of[rank][1] = tail_of[other][2] = now;
        parts[static_cast<std::size_t>(rank)].push_back(now);
        parts[static_cast<std::size_t>(other)].push_back(now);
      }
    }
    Parts last;
    for (const auto& of_rank : parts) {
      for (const Parts& each : of_rank) {
        last = latest(each, last);
      }
    }
    const report::CriticalPath path = critical_path(tiny.finish().step());
    EXPECT_NEAR(path.compute_s, last.compute, 1e-9) << "seed " << seed;
    EXPECT_NEAR(traffic(path, Traffic::kPipeline), last.pipeline, 1e-9) << "seed " << seed;
    EXPECT_NEAR(sum(path), tiny.timeline.end_s, 1e-9) << "seed " << seed;
  }
}

}  // namespace
}  // namespace lamina::metrics
