#include "sim/metrics/role_times.hpp"

#include <numeric>
#include <random>

#include <gtest/gtest.h>

#include "sim/error/error.hpp"
#include "tests/unit/metrics/tiny_step.hpp"

namespace lamina::metrics {
namespace {

using graph::Phase;
using graph::StreamKind;
using graph::Traffic;
using metrics::testing::TinyStep;

double exposed(const report::RoleTimes& times, Traffic traffic) {
  return times.exposed_s[static_cast<std::size_t>(traffic)];
}

double sum(const report::RoleTimes& times) {
  return times.compute_s + std::accumulate(times.exposed_s.begin(), times.exposed_s.end(), 0.0) + times.bubble_s +
         times.tail_s;
}

// Reference: "pipeline bubble" of GPipe, (p - 1)(tF + tB) / (m (tF + tB) + (p - 1)(tF + tB)); for p = 4, m = 8, tF = 1,
// tB = 2 the published unit-time replay has a makespan of 33 and 24 of work.
TEST(RoleTimes, OfGPipeWithoutNetworkHaveTheTextbookBubble) {
  TinyStep tiny = testing::gpipe(4, 8, 1, 2);
  const StepTimes times = role_times(tiny.finish().step());
  EXPECT_DOUBLE_EQ(tiny.timeline.end_s, 33);
  EXPECT_NEAR(times.bubble_makespan_fraction, 9.0 / 33.0, 1e-12);
  EXPECT_NEAR(times.bubble_span_fraction, 9.0 / 33.0, 1e-12);
  for (const report::RoleTimes& rank : times.ranks) {
    EXPECT_DOUBLE_EQ(rank.compute_s, 24);
    EXPECT_NEAR(rank.bubble_s + rank.tail_s, 9, 1e-12);
    EXPECT_DOUBLE_EQ(exposed(rank, Traffic::kPipeline), 0);
  }
  EXPECT_DOUBLE_EQ(times.ranks[0].tail_s, 0);
  EXPECT_DOUBLE_EQ(times.ranks[3].bubble_s, 3);  // three forwards of others before its first
  EXPECT_DOUBLE_EQ(times.ranks[3].tail_s, 6);    // three backwards of others after its last
  EXPECT_DOUBLE_EQ(times.ranks[0].span_s, 33);
  EXPECT_DOUBLE_EQ(times.ranks[3].span_s, 24);
}

TEST(RoleTimes, ChargeTheTransferButNotTheWaitForItsSender) {
  TinyStep tiny(2);
  const auto work = tiny.compute(0, 4);
  const auto [send, receive] = tiny.message(0, 1, 2, {work});
  tiny.compute(1, 5, {receive});
  const StepTimes times = role_times(tiny.finish().step());
  EXPECT_DOUBLE_EQ(times.ranks[1].bubble_s, 4);
  EXPECT_DOUBLE_EQ(exposed(times.ranks[1], Traffic::kPipeline), 2);
  EXPECT_DOUBLE_EQ(times.ranks[1].compute_s, 5);
  EXPECT_DOUBLE_EQ(exposed(times.ranks[0], Traffic::kPipeline), 2) << "the send ends after the sender's last compute";
  EXPECT_DOUBLE_EQ(times.ranks[0].tail_s, 5);
}

TEST(RoleTimes, FollowTransfersThatQueueOnOneStream) {
  TinyStep tiny(2);
  tiny.message(0, 1, 2);
  const auto second = tiny.message(0, 1, 3);
  tiny.compute(1, 1, {second.second});
  const StepTimes times = role_times(tiny.finish().step());
  EXPECT_DOUBLE_EQ(exposed(times.ranks[1], Traffic::kPipeline), 5);
  EXPECT_DOUBLE_EQ(times.ranks[1].bubble_s, 0);
}

TEST(RoleTimes, CountOnlyThePartOfATransferThatComputeWaitsFor) {
  TinyStep tiny(1);
  const auto reduce = tiny.collective(0, Traffic::kReduce, 5);
  tiny.compute(0, 3);
  tiny.compute(0, 2, {reduce}, Phase::kUpdate);
  const StepTimes times = role_times(tiny.finish().step());
  EXPECT_DOUBLE_EQ(times.ranks[0].compute_s, 5);
  EXPECT_DOUBLE_EQ(exposed(times.ranks[0], Traffic::kReduce), 2);
}

TEST(RoleTimes, ChargeAChainAcrossClassesPieceByPiece) {
  TinyStep tiny(1);
  graph::Operation copy;
  copy.kind = graph::OperationKind::kHostCopy;
  copy.traffic = Traffic::kOffload;
  const auto fetched = tiny.alone(0, copy, StreamKind::kHostIn, 1.5);
  const auto restored = tiny.collective(0, Traffic::kRestore, 2.5, {fetched});
  const auto gathered = tiny.collective(0, Traffic::kTensor, 0.5, {restored}, StreamKind::kTensor);
  tiny.compute(0, 1, {gathered});
  const StepTimes times = role_times(tiny.finish().step());
  EXPECT_DOUBLE_EQ(exposed(times.ranks[0], Traffic::kOffload), 1.5);
  EXPECT_DOUBLE_EQ(exposed(times.ranks[0], Traffic::kRestore), 2.5);
  EXPECT_DOUBLE_EQ(exposed(times.ranks[0], Traffic::kTensor), 0.5);
  EXPECT_DOUBLE_EQ(times.ranks[0].bubble_s, 0);
  EXPECT_DOUBLE_EQ(times.bubble_makespan_fraction, 0) << "one rank has no pipeline bubble";
}

TEST(RoleTimes, ExposeInFullWhatIsIssuedOnTheComputeStream) {
  TinyStep tiny(1);
  tiny.compute(0, 3);
  tiny.collective(0, Traffic::kTensor, 2, {}, StreamKind::kCompute);
  tiny.compute(0, 4);
  const StepTimes times = role_times(tiny.finish().step());
  EXPECT_DOUBLE_EQ(times.ranks[0].compute_s, 7);
  EXPECT_DOUBLE_EQ(exposed(times.ranks[0], Traffic::kTensor), 2);
  EXPECT_DOUBLE_EQ(times.bubble_span_fraction, 0);
}

TEST(RoleTimes, CallItBubbleWhenAMessageOnTheComputeStreamWaitsForItsSender) {
  TinyStep tiny(2);
  const auto work = tiny.compute(0, 4);
  tiny.compute(1, 1);
  tiny.message(0, 1, 2, {work}, {}, StreamKind::kCompute, StreamKind::kCompute);
  const StepTimes times = role_times(tiny.finish().step());
  EXPECT_DOUBLE_EQ(times.ranks[1].bubble_s, 3);
  EXPECT_DOUBLE_EQ(exposed(times.ranks[1], Traffic::kPipeline), 2);
}

TEST(RoleTimes, CallTheWaitForASlowMemberOfACollectiveBubble) {
  TinyStep tiny(2);
  const auto slow = tiny.compute(0, 6);
  const auto fast = tiny.compute(1, 4);
  tiny.collective_of_all(1, Traffic::kReduce, {{slow}, {fast}});
  const StepTimes times = role_times(tiny.finish().step());
  EXPECT_DOUBLE_EQ(times.ranks[0].bubble_s, 0);
  EXPECT_DOUBLE_EQ(times.ranks[1].bubble_s, 2);
  EXPECT_DOUBLE_EQ(exposed(times.ranks[1], Traffic::kReduce), 1);
  EXPECT_DOUBLE_EQ(times.ranks[1].tail_s, 0);
}

TEST(RoleTimes, ChargeAnUpdateOnTheHostToOffload) {
  TinyStep tiny(1);
  const auto backward = tiny.compute(0, 4, {}, Phase::kBackward);
  graph::Operation update;
  update.phase = Phase::kUpdate;
  tiny.alone(0, update, StreamKind::kHostOut, 3, {backward});
  const StepTimes times = role_times(tiny.finish().step());
  EXPECT_DOUBLE_EQ(times.ranks[0].compute_s, 4);
  EXPECT_DOUBLE_EQ(exposed(times.ranks[0], Traffic::kOffload), 3);
}

TEST(RoleTimes, KeepTheUpdateOutOfThePipelineBubble) {
  TinyStep tiny = testing::gpipe(2, 4, 1, 2);
  for (int rank = 0; rank < 2; ++rank) {
    const auto reduce = tiny.collective(rank, Traffic::kReduce, 5, {0});
    tiny.compute(rank, 100, {reduce}, Phase::kUpdate);
  }
  const StepTimes times = role_times(tiny.finish().step());
  EXPECT_NEAR(times.bubble_makespan_fraction, 3.0 / 15.0, 1e-12);
  EXPECT_NEAR(times.bubble_span_fraction, 3.0 / 15.0, 1e-12);
  EXPECT_DOUBLE_EQ(times.ranks[0].compute_s, 112);
}

TEST(RoleTimes, RefuseATimelineThatDoesNotFitTheDeployment) {
  TinyStep tiny(1);
  tiny.compute(0, 1);
  tiny.finish();
  tiny.timeline.spans[0].pop_back();
  EXPECT_THROW((void)tiny.step(), error::InternalError);
  tiny.timeline.spans.clear();
  EXPECT_THROW((void)tiny.step(), error::InternalError);
}

TEST(RoleTimes, OfARankWithoutOperationsAreAllTail) {
  TinyStep tiny(2);
  tiny.compute(0, 3);
  const StepTimes times = role_times(tiny.finish().step());
  EXPECT_DOUBLE_EQ(times.ranks[1].tail_s, 3);
  EXPECT_DOUBLE_EQ(sum(times.ranks[1]), 3);
}

/// A random step on four ranks; whole numbers of seconds, zero included, make ties likely.
TinyStep random_step(unsigned seed, bool whole) {
  std::mt19937 engine(seed);
  const auto pick = [&](int bound) { return static_cast<int>(engine() % static_cast<unsigned>(bound)); };
  const auto duration = [&] { return whole ? pick(4) : 1e-3 * (1 + pick(1000000)); };
  TinyStep tiny(4);
  const auto some = [&](int rank) {
    std::vector<TinyStep::Id> result;
    const int size = static_cast<int>(tiny.program(rank).operations.size());
    for (int k = 0; k < 2 && size > 0; ++k) {
      result.push_back(static_cast<TinyStep::Id>(size - 1 - pick(std::min(size, 6))));
    }
    return result;
  };
  for (int k = 0; k < 300; ++k) {
    const int rank = pick(4);
    const int other = (rank + 1 + pick(3)) % 4;
    const auto traffic = static_cast<Traffic>(2 + pick(4));
    const auto stream = pick(4) == 0 ? StreamKind::kCompute : StreamKind::kPipelineSend;
    switch (pick(6)) {
      case 0:
        tiny.message(rank, other, duration(), some(rank), some(other), stream);
        break;
      case 1:
        tiny.collective(rank, traffic, duration(), some(rank), pick(3) == 0 ? StreamKind::kCompute : StreamKind::kData);
        break;
      case 2:
        tiny.collective_of_all(duration(), Traffic::kReduce, {some(0), some(1), some(2), some(3)});
        break;
      default:
        tiny.compute(rank, duration(), some(rank), pick(5) == 0 ? Phase::kUpdate : Phase::kBackward);
    }
  }
  return tiny;
}

TEST(RoleTimes, AddUpToTheStepTimeOnRandomSteps) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    TinyStep tiny = random_step(seed, seed % 2 == 0);
    const StepTimes times = role_times(tiny.finish().step());
    for (std::size_t rank = 0; rank < times.ranks.size(); ++rank) {
      const report::RoleTimes& each = times.ranks[rank];
      EXPECT_NEAR(sum(each), tiny.timeline.end_s, 1e-9 * tiny.timeline.end_s) << "seed " << seed << " rank " << rank;
      EXPECT_GE(each.bubble_s, 0);
      EXPECT_GE(each.tail_s, 0);
      double busy = 0;
      for (const graph::Operation& operation : tiny.graph.programs[rank].operations) {
        busy += operation.kind == graph::OperationKind::kCompute ? operation.duration_s : 0;
      }
      EXPECT_NEAR(each.compute_s, busy, 1e-9 * tiny.timeline.end_s);
    }
    EXPECT_GE(times.bubble_makespan_fraction, 0);
    EXPECT_LE(times.bubble_makespan_fraction, 1);
  }
}

}  // namespace
}  // namespace lamina::metrics
