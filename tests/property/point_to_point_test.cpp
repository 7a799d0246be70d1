// What the four ways to issue messages cost: closed forms on a network that only delays.
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/pipeline/simulate.hpp"
#include "tests/support/random_scenario.hpp"

namespace lamina {
namespace {

using scenario::PointToPoint;

/// One layer per chunk: a chunk's forward lasts 1 s, its backward 2 s, a message `delay` seconds.
scenario::Scenario delayed(const std::string& schedule, int ranks, int chunks, int micro_batches, double delay,
                           PointToPoint mode) {
  scenario::Scenario scenario = tests::delayed_scenario(ranks, ranks * chunks, delay);
  scenario.strategy.micro_batches = micro_batches;
  scenario.strategy.schedule = tests::choose_schedule(schedule);
  scenario.strategy.point_to_point = mode;
  return scenario;
}

/// Step time in seconds; empty when the schedule cannot run this way.
std::optional<double> step(const scenario::Scenario& scenario) {
  const auto result = pipeline::simulate(scenario, pipeline::builtin_catalogs());
  return result ? std::optional<double>(result->report.step_s) : std::nullopt;
}

constexpr double kDelay = 1e-2;
constexpr double kTolerance = 1e-6;  // one byte at 1 TB/s per message on the path

double delays(const std::string& schedule, int ranks, int chunks, int micro_batches, PointToPoint mode) {
  const auto late = step(delayed(schedule, ranks, chunks, micro_batches, kDelay, mode));
  const auto prompt = step(delayed(schedule, ranks, chunks, micro_batches, 0, mode));
  EXPECT_TRUE(late && prompt);
  return late && prompt ? (*late - *prompt) / kDelay : -1;
}

TEST(MessageDelays, StrictOneForwardOneBackwardHasAHiddenCriticalPath) {
  // Every group of p micro-batches makes one round trip: 2(p-1)m/p + 2(p-2) delays when p divides m, not 2(p-1)
  // (the critical path that the Pipette paper, DATE 2024, calls hidden).
  for (const int ranks : {2, 4, 8}) {
    for (const int groups : {1, 2, 4}) {
      const int micro_batches = ranks * groups;
      EXPECT_NEAR(delays("one_forward_one_backward", ranks, 1, micro_batches, PointToPoint::kSeparateStreams),
                  2 * (ranks - 1) * groups + 2 * (ranks - 2), kTolerance / kDelay)
          << ranks << " ranks, " << micro_batches << " micro-batches";
    }
  }
}

TEST(MessageDelays, BreadthFirstWithSlackPaysForTheRampsOnly) {
  for (const int ranks : {2, 4, 8}) {
    for (const int chunks : {2, 4}) {
      EXPECT_NEAR(delays("layered_modular", ranks, chunks, 2 * ranks, PointToPoint::kSeparateStreams), 2 * (ranks - 1),
                  kTolerance / kDelay);
    }
  }
}

TEST(MessageDelays, TwoRanksHaveClosedFormsInEveryMode) {
  // p = 2, F = 1, B = 2, delay c. GPipe overlaps all messages but the first of each pass when nobody waits for them:
  // 3m + 3 + 2c; awaited after each action it pays every one: 3m + 3 + 2mc. 1F1B pays m of them in either case (the
  // hidden critical path), and one more when the batch that hides nothing is awaited: 3m + 3 + (m + 1)c.
  for (const int m : {2, 4, 8}) {
    const auto time = [m](const char* schedule, PointToPoint mode) {
      return step(delayed(schedule, 2, 1, m, kDelay, mode)).value_or(-1);
    };
    const double work = 3 * m + 3;
    EXPECT_NEAR(time("gpipe", PointToPoint::kSeparateStreams), work + 2 * kDelay, kTolerance);
    EXPECT_NEAR(time("gpipe", PointToPoint::kFusedRendezvous), work + 2 * m * kDelay, kTolerance);
    EXPECT_NEAR(time("gpipe", PointToPoint::kBlocking), work + 2 * m * kDelay, kTolerance);
    EXPECT_NEAR(time("one_forward_one_backward", PointToPoint::kSeparateStreams), work + m * kDelay, kTolerance);
    EXPECT_NEAR(time("one_forward_one_backward", PointToPoint::kFusedRendezvous), work + (m + 1) * kDelay, kTolerance);
  }
}

TEST(MessageDelays, BlockingMessagesDeadlockOneForwardOneBackward) {
  // Rank 0 sends its second activation while rank 1 sends the first gradient: neither receives.
  const auto result = pipeline::simulate(delayed("one_forward_one_backward", 2, 1, 4, kDelay, PointToPoint::kBlocking),
                                         pipeline::builtin_catalogs());
  ASSERT_FALSE(result.has_value());
  EXPECT_THAT(result.error().reason, ::testing::HasSubstr("point_to_point: blocking"));
  EXPECT_THAT(result.error().reason, ::testing::HasSubstr("send to rank 1"));
  EXPECT_THAT(result.error().reason, ::testing::HasSubstr("send to rank 0"));
}

class MessageModes : public ::testing::TestWithParam<std::string> {};

TEST_P(MessageModes, WaitingForMoreNeverMakesAStepShorter) {
  // On a network that only delays, start times are maxima over predecessors, and each mode below has all constraints of
  // the mode that it is compared with.
  int served = 0;
  for (const int ranks : {2, 4}) {
    for (const int chunks : {1, 2}) {
      const auto time = [&](PointToPoint mode) { return step(delayed(GetParam(), ranks, chunks, 8, kDelay, mode)); };
      const auto separate = time(PointToPoint::kSeparateStreams);
      if (!separate) {
        continue;
      }
      ++served;
      const auto posted = time(PointToPoint::kEarlyPosted);
      ASSERT_TRUE(posted) << "PyTorch's lowering yields one order of all messages, so it cannot deadlock";
      EXPECT_GE(*posted, *separate - kTolerance);
      const auto fused = time(PointToPoint::kFusedRendezvous);
      const auto blocking = time(PointToPoint::kBlocking);
      EXPECT_TRUE(!fused || *fused >= *separate - kTolerance);
      EXPECT_TRUE(!blocking || (fused && *blocking >= *fused - kTolerance));
    }
  }
  EXPECT_TRUE(served > 0 || GetParam() == "accumulate");
}

std::vector<std::string> schedule_names() {
  std::vector<std::string> names;
  for (const auto& info : pipeline::builtin_catalogs().schedules.infos()) {
    names.push_back(info.name);
  }
  return names;
}

INSTANTIATE_TEST_SUITE_P(Schedules, MessageModes, ::testing::ValuesIn(schedule_names()),
                         [](const auto& parameter) { return parameter.param; });

}  // namespace
}  // namespace lamina
