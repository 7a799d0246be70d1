#include <gtest/gtest.h>

#include "sim/replay/message_form.hpp"
#include "sim/replay/replay.hpp"
#include "tests/unit/replay/scene.hpp"

namespace lamina::replay {
namespace {

using graph::CollectiveKind;
using graph::GroupKind;
using testing::Scene;

constexpr auto kAllReduce = static_cast<std::size_t>(CollectiveKind::kAllReduce);

/// `count` ranks in a ring; rank i reaches i + 1 over its own up link and the neighbour's down link.
struct Ring {
  explicit Ring(int count, double bandwidth) {
    for (int i = 0; i < count; ++i) {
      members.push_back(scene.rank());
      streams.push_back(scene.stream(i, graph::StreamKind::kData));
      up.push_back(scene.link(bandwidth));
      down.push_back(scene.link(bandwidth));
    }
  }

  [[nodiscard]] std::vector<int> all_links() const {
    std::vector<int> links = up;
    links.insert(links.end(), down.begin(), down.end());
    return links;
  }

  Scene scene;
  std::vector<int> members;
  std::vector<int> streams;
  std::vector<int> up;
  std::vector<int> down;
};

// Ring all-reduce of S bytes among n: 2 (n - 1) steps of S / n at bandwidth B, each after the latency.
TEST(ReplayCollective, RingAllReduceTakesTwiceNMinusOneOverNTimesTheBuffer) {
  constexpr int kRanks = 4;
  Ring ring(kRanks, 1e9);
  const int path = ring.scene.path(ring.all_links(), 2 * (kRanks - 1) * 0.01);
  ring.scene.group(GroupKind::kData, ring.members, kRanks).steps[kAllReduce] = {
      {.path = path, .bytes_per_payload = 2.0 * (kRanks - 1) / kRanks}};
  for (int i = 0; i < kRanks; ++i) {
    ring.scene.compute(i, i == 2 ? ring.streams[2] : ring.streams[0], i == 2 ? 0.5 : 0);
    ring.scene.collective(i, 0, CollectiveKind::kAllReduce, 4e9);
  }
  const timeline::Timeline timeline = ring.scene.run();
  for (std::size_t i = 0; i < kRanks; ++i) {
    EXPECT_NEAR(timeline.spans[i][1].start, 0.5, 1e-9) << "the last member arrives at 0.5 s";
    EXPECT_NEAR(timeline.spans[i][1].end, 0.5 + 0.06 + 1.5 * 4, 1e-9);
  }
}

TEST(ReplayCollective, MessageFormOfARingTakesAsLongAsItsFlow) {
  constexpr int kRanks = 4;
  Ring ring(kRanks, 1e9);
  std::vector<deployment::GroupMessage> messages;
  std::vector<int> paths;
  for (int i = 0; i < kRanks; ++i) {
    const int next = (i + 1) % kRanks;
    paths.push_back(ring.scene.path({ring.up[Scene::index(i)], ring.down[Scene::index(next)]}, 0.01));
  }
  for (int step = 0; step < 2 * (kRanks - 1); ++step) {
    for (int i = 0; i < kRanks; ++i) {
      messages.push_back({.from = i,
                          .to = (i + 1) % kRanks,
                          .path = paths[Scene::index(i)],
                          .step = step,
                          .bytes_per_payload = 1.0 / kRanks});
    }
  }
  ring.scene.group(GroupKind::kData, ring.members, kRanks).messages[kAllReduce] = messages;
  for (int i = 0; i < kRanks; ++i) {
    ring.scene.collective(i, ring.streams[Scene::index(i)], CollectiveKind::kAllReduce, 4e9);
  }
  const timeline::Timeline timeline = ring.scene.run();
  EXPECT_NEAR(timeline.spans[3][0].end, 6 * (0.01 + 1.0), 1e-9);
  EXPECT_EQ(timeline.flows.size(), messages.size());
}

TEST(ReplayCollective, RunsTheStepsOfAChainOneAfterTheOther) {
  Scene scene;
  const int rank = scene.rank();
  const int inner = scene.path({scene.link(4e9)}, 0.25);
  const int outer = scene.path({scene.link(1e9)}, 0.5);
  const int idle = scene.path({}, 0.125);
  scene.group(GroupKind::kData, {rank}, 16).steps[kAllReduce] = {{inner, 0.5}, {outer, 0.25}, {idle, 0}, {inner, 0.5}};
  scene.collective(rank, scene.stream(rank), CollectiveKind::kAllReduce, 8e9);
  const timeline::Timeline timeline = scene.run();
  EXPECT_NEAR(timeline.end_s, (0.25 + 1) + (0.5 + 2) + 0.125 + (0.25 + 1), 1e-9);
  EXPECT_EQ(timeline.flows.size(), 3U);
}

TEST(ReplayCollective, TakesNoTimeInAGroupOfOneOrWithoutAGroup) {
  Scene scene;
  const int rank = scene.rank();
  const int stream = scene.stream(rank);
  scene.group(GroupKind::kData, {rank}, 1);
  scene.compute(rank, stream, 1);
  scene.collective(rank, stream, CollectiveKind::kAllReduce, 8e9, GroupKind::kData);
  scene.collective(rank, stream, CollectiveKind::kAllGather, 8e9, GroupKind::kTensor);
  const timeline::Timeline timeline = scene.run();
  EXPECT_DOUBLE_EQ(timeline.spans[0][1].start, 1);
  EXPECT_DOUBLE_EQ(timeline.spans[0][2].end, 1);
}

// Collectives of one group on two streams: the k-th of one member meets the k-th of the other, whatever arrives first.
TEST(ReplayCollective, PairsTheCollectivesOfAGroupByTheirNumber) {
  Scene scene;
  const int path = scene.path({scene.link(1e9)});
  for (int i = 0; i < 2; ++i) {
    const int rank = scene.rank();
    const int first = scene.stream(rank);
    const int second = scene.stream(rank);
    scene.compute(rank, i == 0 ? first : second, 3);
    scene.collective(rank, first, CollectiveKind::kAllReduce, 1e9);
    scene.collective(rank, second, CollectiveKind::kAllGather, 1e9);
  }
  deployment::Group& group = scene.group(GroupKind::kData, {0, 1}, 2);
  group.steps[kAllReduce] = {{path, 1}};
  group.steps[static_cast<std::size_t>(CollectiveKind::kAllGather)] = {{path, 2}};
  const timeline::Timeline timeline = scene.run();
  for (std::size_t rank = 0; rank < 2;
       ++rank) {  // both start at 3 s and share the link: 1e9 B end at 5 s, 2e9 B at 6 s
    EXPECT_NEAR(timeline.spans[rank][1].start, 3, 1e-9);
    EXPECT_NEAR(timeline.spans[rank][1].end, 5, 1e-9);
    EXPECT_NEAR(timeline.spans[rank][2].end, 6, 1e-9);
  }
}

TEST(ReplayCollective, SlowsDownTheComputeOfAllItsMembers) {
  Scene scene;
  const int path = scene.path({scene.link(1e9)});
  for (int i = 0; i < 2; ++i) {
    const int rank = scene.rank();
    scene.compute(rank, scene.stream(rank), 2);
    scene.collective(rank, scene.stream(rank), CollectiveKind::kAllReduce, 1e9);
  }
  scene.group(GroupKind::kData, {0, 1}, 2).steps[kAllReduce] = {{path, 1}};
  const timeline::Timeline timeline = scene.run({.communication_slowdown = 0.5});
  EXPECT_NEAR(timeline.spans[0][0].end, 2.5, 1e-9);
  EXPECT_NEAR(timeline.spans[1][0].end, 2.5, 1e-9);
}

TEST(MessageForm, SendsAStepAfterAllMessagesOfEarlierStepsOfThatMember) {
  // 0 -> 1 in step 0; 1 -> 2 and 0 -> 2 in step 1; 2 -> 0 in step 3.
  const std::vector<deployment::GroupMessage> messages = {{.from = 0, .to = 1, .step = 0},
                                                          {.from = 1, .to = 2, .step = 1},
                                                          {.from = 0, .to = 2, .step = 1},
                                                          {.from = 2, .to = 0, .step = 3}};
  const MessageForm form(messages, 3);
  MessageForm::Progress progress;
  std::vector<std::uint32_t> starting;
  form.begin(progress, starting);
  EXPECT_EQ(starting, (std::vector<std::uint32_t>{0}));
  starting.clear();
  form.finish(progress, 0, starting);
  EXPECT_EQ(starting, (std::vector<std::uint32_t>{2, 1}));
  starting.clear();
  form.finish(progress, 1, starting);
  EXPECT_TRUE(starting.empty());
  form.finish(progress, 2, starting);
  EXPECT_EQ(starting, (std::vector<std::uint32_t>{3}));
  form.finish(progress, 3, starting);
  EXPECT_EQ(progress.left, 0U);
}

}  // namespace
}  // namespace lamina::replay
