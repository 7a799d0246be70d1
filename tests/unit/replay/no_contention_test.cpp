#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "sim/error/error.hpp"
#include "sim/replay/no_contention_transport.hpp"
#include "sim/replay/replay.hpp"
#include "tests/unit/replay/scene.hpp"

namespace lamina::replay {
namespace {

using graph::CollectiveKind;
using graph::GroupKind;
using testing::Scene;

constexpr double kBandwidth = 1e9;

Options alone() {
  Options options;
  options.transport = scenario::Transport::kNoContention;
  return options;
}

TEST(NoContention, TwoFlowsOnOneLinkTakeTheTimeOfOne) {
  Scene scene;
  const int link = scene.link(kBandwidth);
  for (int i = 0; i < 2; ++i) {
    const int rank = scene.rank();
    scene.deployment.ranks.back().to_host = scene.path({link}, 0.25);
    scene.copy(rank, scene.stream(rank), 2e9);
  }
  EXPECT_DOUBLE_EQ(scene.run(alone()).end_s, 0.25 + 2.0);
  EXPECT_DOUBLE_EQ(scene.run().end_s, 0.25 + 4.0);
}

TEST(NoContention, ALinkThatAFlowCrossesThriceLimitsItThrice) {
  Scene scene;
  const int narrow = scene.link(kBandwidth);
  const int wide = scene.link(2 * kBandwidth);
  const int rank = scene.rank();
  scene.deployment.ranks.back().to_host = scene.path({narrow, wide, wide, wide});
  scene.copy(rank, scene.stream(rank), 4e9);
  EXPECT_DOUBLE_EQ(scene.run(alone()).end_s, 4.0 * 3 / 2);
}

TEST(NoContention, AMessageWaitsForItsReceiver) {
  Scene scene;
  const int sender = scene.rank();
  const int receiver = scene.rank();
  const auto [out, in] = scene.channel(sender, receiver, scene.path({scene.link(kBandwidth)}));
  scene.message(sender, scene.stream(sender), out, 1e9);
  const int stream = scene.stream(receiver);
  scene.compute(receiver, stream, 3);
  scene.message(receiver, stream, in, 1e9);
  const timeline::Timeline timeline = scene.run(alone());
  EXPECT_DOUBLE_EQ(timeline.spans[0][0].start, 3);
  EXPECT_DOUBLE_EQ(timeline.spans[0][0].end, 4);
  ASSERT_EQ(timeline.flows.size(), 1U);
  EXPECT_DOUBLE_EQ(timeline.flows[0].end - timeline.flows[0].start, 1);
}

TEST(NoContention, SlowedComputeArmsItsTimerAgain) {
  Scene scene;
  const int rank = scene.rank();
  scene.deployment.ranks.back().to_host = scene.path({scene.link(kBandwidth)});
  scene.compute(rank, scene.stream(rank), 2);
  scene.copy(rank, scene.stream(rank), 1e9);
  Options options = alone();
  options.communication_slowdown = 0.5;
  EXPECT_DOUBLE_EQ(scene.run(options).end_s, 1 + 1.5);  // half speed for 1 s, then 1.5 s of work are left
}

TEST(NoContention, RunsSeveralTimesInOneProcess) {
  Scene scene;
  const int rank = scene.rank();
  scene.compute(rank, scene.stream(rank), 2);
  const graph::OperationGraph graph = scene.frozen();
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(replay_in_process(graph, scene.deployment, alone()).end_s, 2);
  }
}

TEST(NoContention, EqualsSimgridWhereNoTwoFlowsMeet) {
  Scene scene;
  const int first = scene.rank();
  const int second = scene.rank();
  const auto [out, in] = scene.channel(first, second, scene.path({scene.link(kBandwidth)}, 0.125));
  scene.group(GroupKind::kData, {first, second}, 2).steps[0] = {{scene.path({scene.link(kBandwidth)}), 1.5},
                                                                {scene.path({scene.link(3 * kBandwidth)}, 0.5), 0.25}};
  for (const int rank : {first, second}) {
    const int stream = scene.stream(rank);
    scene.compute(rank, stream, 0.25 + rank);
    scene.message(rank, stream, rank == first ? out : in, 1.75e9);
    scene.collective(rank, stream, CollectiveKind::kAllReduce, 2e9);
  }
  const timeline::Timeline simgrid = scene.run();
  const timeline::Timeline closed = scene.run(alone());
  EXPECT_NEAR(closed.end_s, 1.25 + 0.125 + 1.75 + 3 + 0.5 + 0.5 / 3, 1e-12);
  for (std::size_t rank = 0; rank < 2; ++rank) {
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_NEAR(closed.spans[rank][i].start, simgrid.spans[rank][i].start, 1e-9);
      EXPECT_NEAR(closed.spans[rank][i].end, simgrid.spans[rank][i].end, 1e-9);
    }
  }
}

TEST(NoContention, RefusesATimeAloneThatIsNoTime) {
  Scene scene;
  const int rank = scene.rank();
  scene.deployment.ranks.back().to_host = scene.path({scene.link(kBandwidth)});
  scene.deployment.paths.back().alone_s_per_byte = -1;
  scene.copy(rank, scene.stream(rank), 1e9);
  EXPECT_THROW((void)scene.run(alone()), error::InternalError);
}

/// Keeps the order of what ends, and starts what it is told when the first event ends.
class Recorder final : public TransportListener {
 public:
  explicit Recorder(Transport& transport) : transport_(transport) {}

  void timer_ended(Token token) override { note(token); }

  void flow_ended(Token token) override { note(100 + token); }

  std::vector<std::uint64_t> order;
  Transport::Timer cancel_first = nullptr;

 private:
  void note(std::uint64_t token) {
    order.push_back(token);
    if (cancel_first != nullptr) {
      transport_.cancel_timer(cancel_first);
      cancel_first = nullptr;
    }
  }

  Transport& transport_;
};

TEST(NoContention, EventsOfOneMomentEndInTheOrderOfTheirStart) {
  deployment::Deployment deployment;
  deployment.paths.push_back({{}, 0, 1.0});
  const auto transport = make_no_contention_transport(deployment);
  Recorder recorder(*transport);
  (void)transport->start_timer(2, 1);
  transport->start_flow(0, 2, 2);
  recorder.cancel_first = transport->start_timer(2, 3);
  (void)transport->start_timer(2, 4);
  (void)transport->start_timer(1, 5);
  transport->run(recorder);
  EXPECT_EQ(recorder.order, (std::vector<std::uint64_t>{5, 1, 102, 4}));
  EXPECT_EQ(transport->now(), 2);
}

}  // namespace
}  // namespace lamina::replay
