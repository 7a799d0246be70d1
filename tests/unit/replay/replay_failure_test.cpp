#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/error/error.hpp"
#include "sim/replay/child.hpp"
#include "sim/replay/replay.hpp"
#include "tests/unit/replay/scene.hpp"

namespace lamina::replay {
namespace {

using ::testing::HasSubstr;
using testing::Scene;

template <class Work>
std::string internal_error(Work work) {
  try {
    work();
  } catch (const error::InternalError& failure) {
    return failure.what();
  }
  return "no error";
}

/// One message of 1 GB between two ranks.
Scene one_message() {
  Scene scene;
  const int sender = scene.rank();
  const int receiver = scene.rank();
  const auto [out, in] = scene.channel(sender, receiver, scene.path({scene.link(1e9)}, 1e-6));
  scene.message(sender, scene.stream(sender), out, 1e9);
  scene.message(receiver, scene.stream(receiver), in, 1e9);
  return scene;
}

TEST(ReplayFailure, NamesTheOperationsThatWaitForEachOther) {
  Scene scene;
  const int path = scene.path({scene.link(1e9)});
  const int left = scene.rank();
  const int right = scene.rank();
  const auto [left_out, right_in] = scene.channel(left, right, path);
  const auto [right_out, left_in] = scene.channel(right, left, path);
  const int left_stream = scene.stream(left);
  const int right_stream = scene.stream(right);
  scene.compute(left, left_stream, 1);
  scene.message(left, left_stream, left_in, 1e9, 5);  // each receives before it sends
  scene.message(left, left_stream, left_out, 1e9, 5);
  scene.message(right, right_stream, right_in, 1e9, 5);
  scene.message(right, right_stream, right_out, 1e9, 5);
  const std::string text = internal_error([&] { (void)scene.run(); });
  EXPECT_THAT(text, HasSubstr("4 of 5 operations could not run"));
  EXPECT_THAT(text, HasSubstr(describe(scene.frozen(), 1)));
  EXPECT_THAT(text, HasSubstr(describe(scene.frozen(), 3)));
}

TEST(ReplayFailure, RefusesNumbersThatTheSimulatorWouldDieOf) {
  const double not_a_number = std::numeric_limits<double>::quiet_NaN();
  const double infinite = std::numeric_limits<double>::infinity();
  for (const double bandwidth : {0.0, -1.0, not_a_number, infinite}) {
    Scene scene = one_message();
    scene.deployment.links[0].bandwidth = bandwidth;
    EXPECT_THAT(internal_error([&] { (void)scene.run(); }), HasSubstr("bandwidth")) << bandwidth;
  }
  for (const double bad : {-1.0, not_a_number, infinite}) {
    Scene latency = one_message();
    latency.deployment.paths[0].latency_s = bad;
    EXPECT_THAT(internal_error([&] { (void)latency.run(); }), HasSubstr("latency")) << bad;
    Scene duration = one_message();
    duration.compute(0, duration.stream(0), bad);
    EXPECT_THAT(internal_error([&] { (void)duration.run(); }), HasSubstr("lasts")) << bad;
    Scene slowness = one_message();
    slowness.deployment.ranks[0].slowness = bad;
    EXPECT_THAT(internal_error([&] { (void)slowness.run(); }), HasSubstr("slowness")) << bad;
  }
  for (const double bad : {-0.1, 1.0, not_a_number}) {
    EXPECT_THAT(internal_error([&] { (void)one_message().run({.communication_slowdown = bad}); }),
                HasSubstr("communication_slowdown"))
        << bad;
  }
}

TEST(ReplayFailure, RefusesIndicesThatPointNowhere) {
  const auto expect = [](const char* part, void (*spoil)(deployment::Deployment&)) {
    Scene scene = one_message();
    spoil(scene.deployment);
    EXPECT_THAT(internal_error([&] { (void)scene.run(); }), HasSubstr(part));
  };
  expect("crosses link", [](auto& broken) { broken.paths[0].links[0].link = 7; });
  expect("crosses link", [](auto& broken) { broken.paths[0].links[0].count = 0; });
  expect("over path", [](auto& broken) { broken.channels[0].path = 3; });
  expect("rank -1", [](auto& broken) { broken.channels[0].receiver = -1; });
  expect("does not join", [](auto& broken) { std::swap(broken.channels[0].sender, broken.channels[0].receiver); });
  expect("no channel", [](auto& broken) { broken.ranks[0].channels.clear(); });
  expect("runs program", [](auto& broken) { broken.ranks[1].program = 2; });
  expect("in group", [](auto& broken) { broken.ranks[1].groups[0] = 0; });
  expect("no link limits", [](auto& broken) { broken.links[0].never_limits = true; });
}

TEST(ReplayFailure, RefusesMembersThatRunDifferentCollectives) {
  Scene scene;
  const int path = scene.path({scene.link(1e9)});
  for (const double bytes : {1e9, 2e9}) {
    const int rank = scene.rank();
    scene.collective(rank, scene.stream(rank), graph::CollectiveKind::kAllReduce, bytes, graph::GroupKind::kPipeline);
  }
  scene.group(graph::GroupKind::kPipeline, {0, 1}, 2).steps[0] = {{path, 1}};
  EXPECT_THAT(internal_error([&] { (void)scene.run(); }), HasSubstr("different collectives"));
}

TEST(ReplayFailure, RefusesACollectiveThatItsGroupCannotRun) {
  Scene scene;
  const int rank = scene.rank();
  scene.collective(rank, scene.stream(rank), graph::CollectiveKind::kAllToAll, 1);
  scene.group(graph::GroupKind::kData, {rank}, 2);
  EXPECT_THAT(internal_error([&] { (void)scene.run(); }), HasSubstr("no way to run"));
}

TEST(ReplayFailure, ReplaysInProcessOnlyOnce) {
  const Scene scene = one_message();
  const auto twice = [&] {
    (void)replay_in_process(scene.frozen(), scene.deployment);
    return replay_in_process(scene.frozen(), scene.deployment);
  };
  EXPECT_THAT(internal_error([&] { (void)run_in_child(twice); }), HasSubstr("only once"));
}

TEST(ReplayFailure, GivesTheSameTimelineInProcessAndInAChild) {
  const Scene scene = one_message();
  const timeline::Timeline forked = scene.run();
  const timeline::Timeline direct =
      run_in_child([&] { return replay_in_process(scene.frozen(), scene.deployment, {}); });
  EXPECT_EQ(forked.end_s, direct.end_s);
  EXPECT_EQ(forked.activities, direct.activities);
  EXPECT_EQ(forked.flows.size(), direct.flows.size());
}

TEST(ReplayChild, PassesOnWhatWentWrongInTheChild) {
  EXPECT_THAT(internal_error([] { (void)run_in_child([]() -> timeline::Timeline { std::abort(); }); }),
              HasSubstr("signal 6"));
  EXPECT_THAT(internal_error([] { (void)run_in_child([]() -> timeline::Timeline { _exit(3); }); }),
              HasSubstr("code 3"));
  EXPECT_THAT(internal_error(
                  [] { (void)run_in_child([]() -> timeline::Timeline { throw std::runtime_error("lost a flow"); }); }),
              HasSubstr("lost a flow"));
  EXPECT_THROW((void)run_in_child([]() -> timeline::Timeline { throw error::EnvironmentError("no space"); }),
               error::EnvironmentError);
  EXPECT_THROW((void)run_in_child([]() -> timeline::Timeline { throw std::bad_alloc(); }), error::EnvironmentError);
}

TEST(ReplayChild, KeepsTheChildsStderrForTheMessage) {
  ::testing::internal::CaptureStderr();
  const std::string text = internal_error([] {
    (void)run_in_child([]() -> timeline::Timeline {
      std::fputs("a constraint could not be saturated\n", stderr);
      std::abort();
    });
  });
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  EXPECT_THAT(text, HasSubstr("a constraint could not be saturated"));
}

TEST(ReplayChild, DoesNotPrintWhatTheParentHadInItsBuffer) {
  ::testing::internal::CaptureStdout();
  std::fputs("a row", stdout);
  (void)one_message().run();
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "a row");
}

TEST(ReplayChild, ReportsAChildThatWasKilled) {
  const auto killed = [] {
    (void)run_in_child([]() -> timeline::Timeline {
      raise(SIGKILL);
      return {};
    });
  };
  EXPECT_THAT(internal_error(killed), HasSubstr("signal 9"));
}

// Ctrl-C reaches the whole process group; neither the parent's handler nor SimGrid's may keep the child alive.
TEST(ReplayChild, EndsOnAnInterruptThatTheParentHandles) {
  const auto before = std::signal(SIGINT, [](int) {});
  const Scene scene = one_message();
  const std::string text = internal_error([&] {
    (void)run_in_child([&] {
      timeline::Timeline timeline = replay_in_process(scene.frozen(), scene.deployment);
      raise(SIGINT);
      return timeline;
    });
  });
  std::signal(SIGINT, before);
  EXPECT_THAT(text, HasSubstr("signal 2"));
}

TEST(ReplayChild, DiesWithItsParent) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t parent = fork();
  ASSERT_GE(parent, 0);
  if (parent == 0) {
    close(ends[0]);
    (void)run_in_child([&]() -> timeline::Timeline {
      const char ready = 'r';
      (void)!write(ends[1], &ready, 1);
      pause();
      return {};
    });
    _exit(0);
  }
  close(ends[1]);
  char byte = 0;
  ASSERT_EQ(read(ends[0], &byte, 1), 1) << "the grandchild runs";
  kill(parent, SIGKILL);
  waitpid(parent, nullptr, 0);
  EXPECT_EQ(read(ends[0], &byte, 1), 0) << "end of file once the grandchild is gone";
  close(ends[0]);
}

}  // namespace
}  // namespace lamina::replay
