#include <cmath>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/error/error.hpp"
#include "sim/replay/link_profile.hpp"
#include "sim/replay/replay.hpp"
#include "tests/unit/replay/scene.hpp"

namespace lamina::replay {
namespace {

using testing::Scene;

deployment::Profile profile(std::vector<std::pair<double, double>> changes, double period = 0) {
  deployment::Profile result;
  for (const auto& [at, share] : changes) {
    result.changes.push_back({Seconds(at), share});
  }
  result.period_s = period;
  return result;
}

/// Two ranks; the first sends `bytes` once `delay` has passed, over a link of 1e9 B/s with a profile (and a second one
/// of 4e9 B/s without).
Scene changing_link(const deployment::Profile& over_time, double bytes, double delay = 0) {
  Scene scene;
  const int sender = scene.rank();
  const int receiver = scene.rank();
  const auto [out, in] = scene.channel(sender, receiver, scene.path({scene.link(1e9), scene.link(4e9)}));
  const int sending = scene.stream(sender);
  if (delay > 0) {
    scene.compute(sender, sending, delay);
  }
  scene.message(sender, sending, out, bytes);
  scene.message(receiver, scene.stream(receiver), in, bytes);
  scene.deployment.profiles = {over_time};
  scene.deployment.links[0].profile = 0;
  return scene;
}

double end_of(const Scene& scene) {
  return scene.run().end_s;
}

TEST(LinkOverTime, HasItsShareFromTheStart) {
  EXPECT_NEAR(end_of(changing_link(profile({{0, 0.25}}), 1e9)), 4, 1e-9);
}

// 0.6e9 B until 0.6 s, the other 0.4e9 B at half the rate: 0.6 + 0.8 s.
TEST(LinkOverTime, ChangesUnderAFlow) {
  EXPECT_NEAR(end_of(changing_link(profile({{0, 1}, {0.6, 0.5}}), 1e9)), 1.4, 1e-9);
}

TEST(LinkOverTime, HasChangedBeforeAFlowThatStartsLater) {
  EXPECT_NEAR(end_of(changing_link(profile({{0, 1}, {0.6, 0.5}}), 1e9, 10)), 12, 1e-8);
}

// 0.1e9 B in the first second, the rest at full rate: a flow must not keep the pace at which it started.
TEST(LinkOverTime, SpeedsUpAFlowThatStartedSlowly) {
  EXPECT_NEAR(end_of(changing_link(profile({{0, 0.1}, {1, 1}}), 1e9)), 1.9, 1e-9);
  EXPECT_NEAR(end_of(changing_link(profile({{0, 0}, {1, 1}}), 1e9)), 2, 1e-9);
}

// Down from 0.5 s to 3 s: half of the bytes before, half after.
TEST(LinkOverTime, StallsFlowsWhileNothingPasses) {
  EXPECT_NEAR(end_of(changing_link(profile({{0, 1}, {0.5, 0}, {3, 1}}), 1e9)), 3.5, 1e-9);
}

// A period of 1 s, the second half of which is down: 10e9 B need 20 half seconds of the link; the last ends at 19.5 s.
TEST(LinkOverTime, FlapsForAsLongAsAFlowCrossesIt) {
  const deployment::Profile flapping = profile({{0, 1}, {0.5, 0}}, 1);
  EXPECT_NEAR(end_of(changing_link(flapping, 10e9)), 19.5, 1e-8);
  EXPECT_NEAR(end_of(changing_link(flapping, 1e9, 100.25)), 102.25, 1e-8);
}

// While the changing link is down the other flow has the shared link alone. A moves in [0, 0.25) and from 0.75 s on.
TEST(LinkOverTime, LeavesItsShareOfOtherLinksToOtherFlows) {
  Scene scene;
  const int a = scene.rank();
  const int b = scene.rank();
  const int changing = scene.link(1e9);
  const int shared = scene.link(2e9);
  const int host = scene.stream(a, graph::StreamKind::kHostOut);
  const int other_host = scene.stream(b, graph::StreamKind::kHostOut);
  scene.deployment.ranks[0].to_host = scene.path({changing, shared});
  scene.deployment.ranks[1].to_host = scene.path({shared});
  scene.copy(a, host, 0.5e9);
  scene.copy(b, other_host, 1.5e9);
  scene.deployment.profiles = {profile({{0, 1}, {0.25, 0}, {0.75, 1}})};
  scene.deployment.links[Scene::index(changing)].profile = 0;
  const timeline::Timeline timeline = scene.run();
  EXPECT_NEAR(timeline.spans[0][0].end, 1, 1e-9);
  EXPECT_NEAR(timeline.spans[1][0].end, 1, 1e-9);  // 0.25e9 + 1e9 + 0.25e9
}

// Nothing but a profile that goes on for ever: the step ends with its last operation.
TEST(LinkOverTime, DoesNotKeepTheStepFromEnding) {
  Scene scene = changing_link(profile({{0, 1}, {1e-3, 0.5}}, 2e-3), 1e9);
  scene.compute(0, 0, 1);
  const timeline::Timeline timeline = scene.run();
  EXPECT_DOUBLE_EQ(timeline.end_s, timeline.spans[0].back().end);
  EXPECT_NEAR(timeline.end_s, 4.0 / 3 + 1, 1e-3);
}

TEST(LinkProfile, AnswersForAnyTime) {
  const deployment::Profile flapping = profile({{0, 1}, {0.1, 0.5}, {0.3, 0}}, 0.7);
  const LinkProfile shares(flapping);
  EXPECT_EQ(shares.at(0).share, 1);
  EXPECT_EQ(shares.at(0.1).share, 0.5);
  EXPECT_EQ(shares.at(0.69).share, 0);
  EXPECT_DOUBLE_EQ(shares.at(0.69).until, 0.7);
  double now = 0;
  for (int i = 0; i < 3000; ++i) {  // every date that it names lies ahead and changes the share
    const LinkProfile::Stretch stretch = shares.at(now);
    ASSERT_GT(stretch.until, now);
    ASSERT_EQ(stretch.share, i % 3 == 0 ? 1 : i % 3 == 1 ? 0.5 : 0) << i;
    now = stretch.until;
  }
  EXPECT_NEAR(now, 700, 1e-9);
}

TEST(LinkProfile, IsCheckedBeforeTheReplay) {
  for (const deployment::Profile& bad :
       {profile({}), profile({{1, 1}}), profile({{0, 1}, {0, 0.5}}), profile({{0, 1}, {1, 0}}), profile({{0, -1}}),
        profile({{0, 1}, {2, 0.5}}, 1), profile({{0, 0}, {2, 0}}, 3)}) {
    EXPECT_THROW((void)changing_link(bad, 1e9).run(), error::InternalError);
  }
  Scene scene = changing_link(profile({{0, 1}}), 1e9);
  scene.deployment.links[0].profile = 1;
  EXPECT_THROW((void)scene.run(), error::InternalError);
}

// Operations 3, 6 and 9 of ten wait 0.5 s each.
TEST(HostDelay, AddsItselfBeforeEveryNthComputeOperation) {
  Scene scene;
  const int rank = scene.rank();
  const int stream = scene.stream(rank);
  for (int i = 0; i < 10; ++i) {
    scene.compute(rank, stream, 1);
  }
  scene.deployment.ranks[0].host_delay_s = 0.5;
  scene.deployment.ranks[0].host_delay_every = 3;
  const timeline::Timeline timeline = scene.run();
  EXPECT_NEAR(timeline.end_s, 10 + 3 * 0.5, 1e-12);
  EXPECT_NEAR(timeline.spans[0][2].start, 2.5, 1e-12);
  EXPECT_NEAR(timeline.spans[0][2].end, 3.5, 1e-12);
  EXPECT_NEAR(timeline.spans[0][3].start, 3.5, 1e-12);
}

TEST(HostDelay, IsNotStretchedByTheSpeedOfTheDeviceAndHitsEmptyOperationsToo) {
  Scene scene;
  const int rank = scene.rank(2);
  const int stream = scene.stream(rank);
  scene.compute(rank, stream, 1);
  scene.compute(rank, stream, 0);
  scene.deployment.ranks[0].host_delay_s = 0.25;
  EXPECT_NEAR(scene.run().end_s, 0.25 + 2 + 0.25, 1e-12);
}

TEST(HostDelay, MustBeATimeAndAPositiveNumber) {
  for (const auto& [delay, every] : std::vector<std::pair<double, int>>{{-1, 1}, {std::nan(""), 1}, {1, 0}}) {
    Scene scene;
    const int rank = scene.rank();
    scene.compute(rank, scene.stream(rank), 1);
    scene.deployment.ranks[0].host_delay_s = delay;
    scene.deployment.ranks[0].host_delay_every = every;
    EXPECT_THROW((void)scene.run(), error::InternalError);
  }
}

}  // namespace
}  // namespace lamina::replay
