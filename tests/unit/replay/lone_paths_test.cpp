#include "sim/replay/lone_paths.hpp"

#include <vector>

#include <gtest/gtest.h>

#include "sim/replay/plan.hpp"
#include "sim/replay/replay.hpp"
#include "tests/unit/replay/scene.hpp"

namespace lamina::replay {
namespace {

using graph::CollectiveKind;
using graph::GroupKind;
using testing::Scene;

std::vector<char> lone(const Scene& scene) {
  return make_plan(scene.frozen(), scene.deployment).path_is_lone;
}

TEST(LonePaths, AGroupThatHasItsLinkToItselfIsAlone) {
  Scene scene;
  const int rank = scene.rank();
  const int stream = scene.stream(rank);
  const int link = scene.link(1e9);
  auto& steps = scene.group(GroupKind::kTensor, {rank}, 8).steps;
  steps[0] = {{scene.path({link}), 1.75}};
  steps[1] = {{scene.path({link, link}), 0.5}};  // another collective of the same group: one after the other
  scene.collective(rank, stream, CollectiveKind::kAllReduce, 1e9, GroupKind::kTensor);
  scene.collective(rank, stream, CollectiveKind::kReduceScatter, 1e9, GroupKind::kTensor);
  EXPECT_EQ(lone(scene), (std::vector<char>{1, 1}));
  EXPECT_NEAR(scene.run().end_s, 1.75 + 2 * 0.5, 1e-12);
}

TEST(LonePaths, TwoStreamsOfOneGroupMayMeet) {
  Scene scene;
  const int rank = scene.rank();
  scene.group(GroupKind::kData, {rank}, 8).steps[0] = {{scene.path({scene.link(1e9)}), 1}};
  scene.collective(rank, scene.stream(rank), CollectiveKind::kAllReduce, 1e9);
  scene.collective(rank, scene.stream(rank), CollectiveKind::kAllReduce, 1e9);
  EXPECT_EQ(lone(scene), std::vector<char>{0});
  EXPECT_NEAR(scene.run().end_s, 2, 1e-9);
}

TEST(LonePaths, ALinkThatTwoChannelsCrossIsSharedAndALinkOfOneIsNot) {
  Scene scene;
  const int shared = scene.link(1e9);
  const int first = scene.rank();
  const int second = scene.rank();
  const auto [out, in] = scene.channel(first, second, scene.path({shared, scene.link(1e9)}));
  const auto [back, front] = scene.channel(second, first, scene.path({scene.link(1e9), shared}));
  const auto [own, end] = scene.channel(first, second, scene.path({scene.link(1e9)}));
  for (const int channel : {out, own}) {
    scene.message(first, scene.stream(first), channel, 1e9);
  }
  scene.message(first, scene.stream(first), front, 1e9);
  for (const int channel : {in, end}) {
    scene.message(second, scene.stream(second), channel, 1e9);
  }
  scene.message(second, scene.stream(second), back, 1e9);
  EXPECT_EQ(lone(scene), (std::vector<char>{0, 0, 1}));
  const timeline::Timeline timeline = scene.run();
  EXPECT_NEAR(timeline.end_s, 2, 1e-9);
  EXPECT_NEAR(timeline.spans[0][1].end, 1, 1e-9);
}

TEST(LonePaths, ALinkWhoseBandwidthChangesIsNeverAlone) {
  Scene scene;
  const int rank = scene.rank();
  scene.deployment.ranks.back().to_host = scene.path({scene.link(1e9)});
  scene.copy(rank, scene.stream(rank), 1e9);
  EXPECT_EQ(lone(scene), std::vector<char>{1});
  scene.deployment.profiles.push_back({{{Seconds(0), 0.5}}, 0});
  scene.deployment.links[0].profile = 0;
  EXPECT_EQ(lone(scene), std::vector<char>{0});
}

TEST(LonePaths, APathThatMovesNothingDisturbsNobody) {
  Scene scene;
  const int link = scene.link(1e9);
  const int rank = scene.rank();
  scene.deployment.ranks.back().to_host = scene.path({link});
  scene.deployment.ranks.back().from_host = scene.path({link});
  scene.copy(rank, scene.stream(rank), 1e9);
  EXPECT_EQ(lone(scene), (std::vector<char>{1, 0}));
}

TEST(LonePaths, AStreamWithoutOrderMayHoldTwoAtOnce) {
  Scene scene;
  const int rank = scene.rank();
  scene.deployment.ranks.back().to_host = scene.path({scene.link(1e9)});
  const int stream = scene.stream(rank);
  scene.programs[Scene::index(rank)].streams[Scene::index(stream)].in_order = false;
  scene.copy(rank, stream, 1e9);
  scene.copy(rank, stream, 1e9);
  EXPECT_EQ(lone(scene), std::vector<char>{0});
}

}  // namespace
}  // namespace lamina::replay
