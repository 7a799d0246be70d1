// What the four ways to issue messages cost: closed forms on a network that only delays.
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
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

/// Megatron-LM's interleaved schedule without overlapped messages (forward_backward_pipelining_with_interleaving in
/// megatron/core/pipeline_parallel/schedules.py): warm-up forwards, pairs of one forward and one backward, backwards; a
/// rank exchanges one batch behind each of these and goes on when all of it has arrived at both ends. Seconds of a step
/// with 1 s for a chunk's forward and 2 s for its backward.
double step_of_interleaved(int ranks, int chunks, int micro_batches, double delay) {
  const int passes = micro_batches * chunks;
  const auto chunk_of = [&](int pass) { return pass / ranks % chunks; };
  const auto micro_batch_of = [&](int pass) { return pass / (ranks * chunks) * ranks + pass % ranks; };

  struct Key {
    bool backward;
    int stage;
    int micro_batch;

    bool operator<(const Key& other) const {
      return std::tie(backward, stage, micro_batch) < std::tie(other.backward, other.stage, other.micro_batch);
    }
  };

  std::map<Key, std::pair<int, int>> place;  // rank, iteration
  std::vector<std::vector<double>> lasts(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    const int warm_up = std::min(passes, (chunks - 1) * ranks + 2 * (ranks - 1 - rank));
    auto& last = lasts[static_cast<std::size_t>(rank)];
    last.assign(static_cast<std::size_t>(passes + warm_up), 0);
    for (int pass = 0; pass < passes; ++pass) {
      const Key forward{false, chunk_of(pass) * ranks + rank, micro_batch_of(pass)};
      const Key backward{true, (chunks - 1 - chunk_of(pass)) * ranks + rank, micro_batch_of(pass)};
      place[forward] = {rank, pass};
      place[backward] = {rank, warm_up + pass};
      last[static_cast<std::size_t>(pass)] += 1;
      last[static_cast<std::size_t>(warm_up + pass)] += 2;
    }
  }

  struct Message {
    std::pair<int, int> from;  // rank, batch: behind the iteration of its producer
    std::pair<int, int> to;    // in front of the iteration of its consumer; -1: before the first
  };

  std::vector<Message> messages;
  for (const auto& [key, from] : place) {
    const Key next{key.backward, key.stage + (key.backward ? -1 : 1), key.micro_batch};
    if (const auto found = place.find(next); found != place.end() && found->second.first != from.first) {
      messages.push_back({from, {found->second.first, found->second.second - 1}});
    }
  }
  // [rank][batch + 1]: when the rank is ready for it, and when all of it is there.
  std::vector<std::vector<double>> ready;
  for (const auto& last : lasts) {
    ready.emplace_back(last.size() + 1, 0.0);
  }
  auto done = ready;
  const auto at = [](auto& times, const std::pair<int, int>& batch) -> double& {
    return times[static_cast<std::size_t>(batch.first)][static_cast<std::size_t>(batch.second + 1)];
  };
  for (bool changed = true; changed;) {
    changed = false;
    const auto raise = [&changed](double& time, double least) {
      changed = changed || time < least;
      time = std::max(time, least);
    };
    for (const Message& message : messages) {
      const double arrival = std::max(at(ready, message.from), at(ready, message.to)) + delay;
      raise(at(done, message.from), arrival);
      raise(at(done, message.to), arrival);
    }
    for (std::size_t rank = 0; rank < lasts.size(); ++rank) {
      for (std::size_t i = 0; i < lasts[rank].size(); ++i) {
        raise(done[rank][i], ready[rank][i]);
        raise(ready[rank][i + 1], done[rank][i] + lasts[rank][i]);
      }
      raise(done[rank].back(), ready[rank].back());
      EXPECT_LT(ready[rank].back(), 1e6) << "batches that wait for each other in a circle";
      changed = changed && ready[rank].back() < 1e6;
    }
  }
  double end = 0;
  for (const auto& times : done) {
    end = std::max(end, times.back());
  }
  return end;
}

TEST(MessageDelays, InterleavedInBatchesOfPairsTakesAsLongAsMegatronsLoop) {
  for (const int ranks : {2, 4}) {
    for (const int chunks : {2, 3}) {
      for (const int groups : {1, 2, 4}) {
        for (const double delay : {0.0, kDelay, 0.5}) {
          const auto scenario =
              delayed("interleaved", ranks, chunks, ranks * groups, delay, PointToPoint::kFusedRendezvous);
          EXPECT_NEAR(step(scenario).value_or(-1), step_of_interleaved(ranks, chunks, ranks * groups, delay),
                      100 * kTolerance)
              << ranks << " ranks, " << chunks << " chunks, " << groups << " groups, " << delay << " s";
        }
      }
    }
  }
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
