#include "sim/replay/replay.hpp"

#include <cmath>

#include <gtest/gtest.h>

#include "sim/error/error.hpp"
#include "tests/unit/replay/scene.hpp"

namespace lamina::replay {
namespace {

using graph::CollectiveKind;
using testing::Scene;

void expect_span(const timeline::Span& span, double start, double end) {
  EXPECT_NEAR(span.start, start, 1e-9 * std::max(1.0, start));
  EXPECT_NEAR(span.end, end, 1e-9 * std::max(1.0, end));
}

TEST(Replay, RunsTheOperationsOfAStreamOneAfterTheOther) {
  Scene scene;
  const int rank = scene.rank();
  const int stream = scene.stream(rank);
  scene.compute(rank, stream, 1.5);
  scene.compute(rank, stream, 0.25);
  const timeline::Timeline timeline = scene.run();
  expect_span(timeline.spans[0][0], 0, 1.5);
  expect_span(timeline.spans[0][1], 1.5, 1.75);
  EXPECT_DOUBLE_EQ(timeline.end_s, 1.75);
  EXPECT_EQ(timeline.activities, 2);
}

TEST(Replay, StartsAnOperationWhenItsDependenciesOnOtherStreamsAreDone) {
  Scene scene;
  const int rank = scene.rank();
  const int first = scene.stream(rank);
  const int second = scene.stream(rank);
  const auto slow = scene.compute(rank, first, 3);
  scene.compute(rank, second, 1);
  const auto after = scene.compute(rank, second, 1);
  scene.depend(rank, slow, after);
  const timeline::Timeline timeline = scene.run();
  expect_span(timeline.spans[0][1], 0, 1);
  expect_span(timeline.spans[0][2], 3, 4);
}

TEST(Replay, StretchesComputeByTheSlownessOfTheRank) {
  Scene scene;
  const int rank = scene.rank(1.25);
  scene.compute(rank, scene.stream(rank), 2);
  EXPECT_DOUBLE_EQ(scene.run().end_s, 2.5);
}

// The sender is ready at 1 s, the receiver at 2 s: 0.5 s of latency and 1e9 B at 1e9 B/s follow.
TEST(Replay, StartsAMessageWhenBothEndsAreReadyAndGivesThemOneSpan) {
  Scene scene;
  const int sender = scene.rank();
  const int receiver = scene.rank();
  const auto [out, in] = scene.channel(sender, receiver, scene.path({scene.link(1e9)}, 0.5));
  const int sending = scene.stream(sender);
  const int receiving = scene.stream(receiver);
  scene.compute(sender, sending, 1);
  scene.message(sender, sending, out, 1e9);
  scene.compute(receiver, receiving, 2);
  scene.message(receiver, receiving, in, 1e9);
  const timeline::Timeline timeline = scene.run();
  expect_span(timeline.spans[0][1], 2, 3.5);
  expect_span(timeline.spans[1][1], 2, 3.5);
  ASSERT_EQ(timeline.flows.size(), 1U);
  EXPECT_NEAR(timeline.flows[0].start, 2.5, 1e-9);
  EXPECT_NEAR(timeline.flows[0].end, 3.5, 1e-9);
  EXPECT_DOUBLE_EQ(timeline.flows[0].bytes, 1e9);
  EXPECT_EQ(timeline.activities, 5);
}

TEST(Replay, ChargesOnlyLatencyForAMessageWithoutBytes) {
  Scene scene;
  const int sender = scene.rank();
  const int receiver = scene.rank();
  const auto [out, in] = scene.channel(sender, receiver, scene.path({}, 0.125));
  scene.message(sender, scene.stream(sender), out, 0);
  scene.message(receiver, scene.stream(receiver), in, 0);
  const timeline::Timeline timeline = scene.run();
  expect_span(timeline.spans[1][0], 0, 0.125);
  EXPECT_TRUE(timeline.flows.empty());
}

// Two flows on 1e9 B/s: half each until the smaller (5e8 B) ends at 1 s; the larger (1e9 B) has 5e8 B left, ends at 1.5
// s.
TEST(Replay, SharesALinkFairlyAmongItsFlows) {
  Scene scene;
  const int path = scene.path({scene.link(1e9)});
  for (const double bytes : {5e8, 1e9}) {
    const int sender = scene.rank();
    const int receiver = scene.rank();
    const auto [out, in] = scene.channel(sender, receiver, path);
    scene.message(sender, scene.stream(sender), out, bytes);
    scene.message(receiver, scene.stream(receiver), in, bytes);
  }
  const timeline::Timeline timeline = scene.run();
  expect_span(timeline.spans[0][0], 0, 1);
  expect_span(timeline.spans[2][0], 0, 1.5);
}

// Max-min: both flows run at r with 16 r + r = 4e9 B/s.
TEST(Replay, ChargesALinkAsOftenAsAFlowCrossesIt) {
  Scene scene;
  const int link = scene.link(4e9);
  const int once = scene.path({link});
  const int often = scene.path(std::vector<int>(16, link));
  for (const int path : {once, often}) {
    const int sender = scene.rank();
    const int receiver = scene.rank();
    const auto [out, in] = scene.channel(sender, receiver, path);
    scene.message(sender, scene.stream(sender), out, 1e9);
    scene.message(receiver, scene.stream(receiver), in, 1e9);
  }
  const timeline::Timeline timeline = scene.run();
  expect_span(timeline.spans[0][0], 0, 17.0 / 4);
  expect_span(timeline.spans[2][0], 0, 17.0 / 4);
}

TEST(Replay, LeavesOutLinksThatNeverLimit) {
  Scene scene;
  const int sender = scene.rank();
  const int receiver = scene.rank();
  const int path = scene.path({scene.link(1e9), scene.link(1, true)});
  const auto [out, in] = scene.channel(sender, receiver, path);
  scene.message(sender, scene.stream(sender), out, 2e9);
  scene.message(receiver, scene.stream(receiver), in, 2e9);
  EXPECT_NEAR(scene.run().end_s, 2, 1e-9);
}

// Copies of two devices to the host share one PCIe link; a third in the other direction does not.
TEST(Replay, SharesAHostPathAmongItsDevices) {
  Scene scene;
  const int up = scene.path({scene.link(2e9)});
  const int down = scene.path({scene.link(2e9)});
  for (int i = 0; i < 2; ++i) {
    const int rank = scene.rank();
    scene.deployment.ranks.back().to_host = up;
    scene.deployment.ranks.back().from_host = down;
    scene.copy(rank, scene.stream(rank, graph::StreamKind::kHostOut), 1e9, true);
    if (i == 0) {
      scene.copy(rank, scene.stream(rank, graph::StreamKind::kHostIn), 1e9, false);
    }
  }
  const timeline::Timeline timeline = scene.run();
  expect_span(timeline.spans[0][0], 0, 1);
  expect_span(timeline.spans[1][0], 0, 1);
  expect_span(timeline.spans[0][1], 0, 0.5);
}

// 1 s of compute; a transfer is under way during [0.2, 0.7] and compute runs at 0.8 meanwhile.
TEST(Replay, SlowsComputeDownWhileATransferTouchesTheDevice) {
  Scene scene;
  const int rank = scene.rank();
  const int peer = scene.rank();
  const auto [out, in] = scene.channel(rank, peer, scene.path({scene.link(1e9)}));
  scene.compute(rank, scene.stream(rank), 1);
  const int sending = scene.stream(rank);
  const int receiving = scene.stream(peer);
  scene.message(rank, sending, out, 5e8);
  scene.compute(peer, receiving, 0.2);
  scene.message(peer, receiving, in, 5e8);
  const timeline::Timeline timeline = scene.run({.communication_slowdown = 0.2});
  EXPECT_NEAR(timeline.spans[0][0].end, 0.2 + 0.5 + (1 - 0.2 - 0.4), 1e-9);
  EXPECT_NEAR(timeline.spans[1][0].end, 0.2, 1e-12) << "waiting does not slow down";
  EXPECT_NEAR(scene.run().spans[0][0].end, 1, 1e-12) << "off by default";
}

// 1 s of compute at both ends of half a second of transfer: 0.4 s and 0.3 s of it are done meanwhile.
TEST(Replay, SlowsTheReceiverDownByItsOwnNumber) {
  Scene scene;
  const int rank = scene.rank();
  const int peer = scene.rank();
  const auto [out, in] = scene.channel(rank, peer, scene.path({scene.link(1e9)}));
  scene.compute(rank, scene.stream(rank), 1);
  scene.compute(peer, scene.stream(peer), 1);
  scene.message(rank, scene.stream(rank), out, 5e8);
  scene.message(peer, scene.stream(peer), in, 5e8);
  const timeline::Timeline timeline = scene.run({.communication_slowdown = 0.2, .receiving_slowdown = 0.4});
  EXPECT_NEAR(timeline.spans[0][0].end, 0.5 + (1 - 0.4), 1e-9);
  EXPECT_NEAR(timeline.spans[1][0].end, 0.5 + (1 - 0.3), 1e-9);
  const timeline::Timeline receiver_only = scene.run({.receiving_slowdown = 0.4});
  EXPECT_NEAR(receiver_only.spans[0][0].end, 1, 1e-9);
  EXPECT_NEAR(receiver_only.spans[1][0].end, 0.5 + (1 - 0.3), 1e-9);
}

// Two overlapping transfers count once: compute at half speed during [0, 1.5], 0.75 s of 1 s done, the rest at full
// speed.
TEST(Replay, SlowsComputeDownOnceForSeveralTransfers) {
  Scene scene;
  const int rank = scene.rank();
  scene.deployment.ranks[0].to_host = scene.path({scene.link(1e9)});
  scene.deployment.ranks[0].from_host = scene.path({scene.link(1e9)});
  scene.compute(rank, scene.stream(rank), 1);
  scene.copy(rank, scene.stream(rank), 1e9, true);
  scene.copy(rank, scene.stream(rank), 1.5e9, false);
  EXPECT_NEAR(scene.run({.communication_slowdown = 0.5}).spans[0][0].end, 1.75, 1e-9);
}

// Rounding payloads to whole bytes would be off by 2.5e-4 here: 2 (n - 1) / n x 1000 B with n = 3.
TEST(Replay, KeepsFractionsOfBytesOfSmallFlowsBesideLargeOnes) {
  for (const double largest : {1.0, 1e12}) {
    Scene scene;
    const int rank = scene.rank();
    const int path = scene.path({scene.link(25e9)}, 0);
    scene.group(graph::GroupKind::kData, {rank}, 3).steps[0] = {{.path = path, .bytes_per_payload = 4.0 / 3}};
    scene.collective(rank, scene.stream(rank), CollectiveKind::kAllReduce, 1000);
    const int other = scene.rank();
    scene.deployment.ranks.back().to_host = scene.path({scene.link(1e12)});
    scene.copy(other, scene.stream(other), largest);
    const double expected = 4000.0 / 3 / 25e9;
    EXPECT_NEAR(scene.run().spans[0][0].end, expected, 1e-9 * expected) << largest;
  }
}

TEST(Replay, StaysExactForStepsOfManyHours) {
  Scene scene;
  const int rank = scene.rank();
  const int stream = scene.stream(rank);
  scene.deployment.ranks[0].to_host = scene.path({scene.link(1e9)});
  scene.compute(rank, stream, 1.0 / 3);
  scene.copy(rank, stream, 1e14 / 3);
  scene.compute(rank, stream, 1e5 / 7);
  scene.copy(rank, stream, 1e3);
  const double expected = 1.0 / 3 + 1e5 / 3 + 1e5 / 7 + 1e-6;
  EXPECT_NEAR(scene.run().end_s, expected, 1e-12 * expected);
}

TEST(Replay, DoesNotRecurseThroughChainsWithoutDuration) {
  Scene scene;
  const int rank = scene.rank();
  const int peer = scene.rank();
  const int stream = scene.stream(rank);
  const int receiving = scene.stream(peer);
  const auto [out, in] = scene.channel(rank, peer, scene.path({}));
  constexpr int kOperations = 200'000;
  for (int i = 0; i < kOperations; ++i) {
    scene.compute(rank, stream, 0);
    scene.message(rank, stream, out, 0);
    scene.message(peer, receiving, in, 0);
  }
  const timeline::Timeline timeline = scene.run();
  EXPECT_EQ(timeline.activities, 3 * kOperations);
  EXPECT_EQ(timeline.end_s, 0);
}

TEST(Replay, OmitsFlowRecordsWhenAskedButCountsThem) {
  Scene scene;
  const int rank = scene.rank();
  scene.deployment.ranks[0].to_host = scene.path({scene.link(1e9)});
  scene.copy(rank, scene.stream(rank), 1e9);
  const timeline::Timeline timeline = scene.run({.record_flows = false});
  EXPECT_TRUE(timeline.flows.empty());
  EXPECT_EQ(timeline.activities, 2);
}

}  // namespace
}  // namespace lamina::replay
