#include <cmath>
#include <sstream>

#include <gtest/gtest.h>

#include "schedules/schedule.hpp"
#include "sim/replay/replay.hpp"
#include "tests/unit/replay/scene.hpp"
#include "tests/unit/schedules/reference_tables.hpp"

// Unit-time replays of schedule tables: a forward of a chunk lasts 1 / v, a backward 2 / v, messages only their delay.
namespace lamina::replay {
namespace {

using schedules::Action;
using schedules::ActionType;
using schedules::ScheduleTable;
using testing::Scene;

/// A table as operations: one compute stream per rank, and per stage boundary and direction one channel with a stream
/// of its own at both ends, so that messages only delay. Backward is one operation.
class UnitTimeLowering {
 public:
  UnitTimeLowering(const ScheduleTable& table, double delay) : table_(table) {
    const auto ranks = table.actions.size();
    per_rank_ = static_cast<double>(table.stages.size()) / static_cast<double>(ranks);
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      scene.stream(scene.rank());
    }
    delay_ = scene.path({}, delay);
    compute_.resize(ranks);
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      for (const Action& action : table.actions[rank]) {
        const double duration = action.type == ActionType::kForward ? 1 / per_rank_ : 2 / per_rank_;
        compute_[rank][key(action.type, action.stage, action.micro_batch)] =
            scene.compute(static_cast<int>(rank), 0, duration);
      }
    }
    for (int stage = 0; stage < static_cast<int>(table.stages.size()); ++stage) {
      const int next = at(stage).next;
      if (next != -1) {
        connect(ActionType::kForward, stage, next);
        connect(ActionType::kBackward, next, stage);
      }
      for (int micro_batch = 0; micro_batch < table.micro_batches; ++micro_batch) {
        const int rank = at(stage).rank;
        scene.depend(rank, operation(ActionType::kForward, stage, micro_batch),
                     operation(ActionType::kBackward, stage, micro_batch));
      }
    }
  }

  /// Largest number of chunks of a rank between the start of their forward and the end of their backward.
  [[nodiscard]] int peak_chunks(std::size_t rank, const timeline::Timeline& timeline) const {
    std::vector<std::pair<double, int>> changes;
    for (std::size_t i = 0; i < table_.actions[rank].size(); ++i) {
      const timeline::Span& span = timeline.spans[rank][i];
      const bool forward = table_.actions[rank][i].type == ActionType::kForward;
      changes.emplace_back(forward ? span.start : span.end, forward ? 1 : -1);
    }
    std::sort(changes.begin(), changes.end());  // frees before it takes at the same time
    int alive = 0;
    int peak = 0;
    for (const auto& [time, change] : changes) {
      alive += change;
      peak = std::max(peak, alive);
    }
    return peak;
  }

  Scene scene;

 private:
  using Key = std::tuple<ActionType, int, int>;

  static Key key(ActionType type, int stage, int micro_batch) { return {type, stage, micro_batch}; }

  [[nodiscard]] const schedules::Stage& at(int stage) const { return table_.stages[static_cast<std::size_t>(stage)]; }

  [[nodiscard]] std::uint32_t operation(ActionType type, int stage, int micro_batch) const {
    return compute_[static_cast<std::size_t>(at(stage).rank)].at(key(type, stage, micro_batch));
  }

  /// Hands the results of `from` to `to`, in the order in which `from` makes them.
  void connect(ActionType type, int from, int to) {
    const int sender = at(from).rank;
    const int receiver = at(to).rank;
    const bool local = sender == receiver;
    std::pair<int, int> channel;
    int sending = 0;
    int receiving = 0;
    if (!local) {
      channel = scene.channel(sender, receiver, delay_);
      sending = scene.stream(sender, graph::StreamKind::kPipelineSend);
      receiving = scene.stream(receiver, graph::StreamKind::kPipelineReceive);
    }
    for (const Action& action : table_.actions[static_cast<std::size_t>(sender)]) {
      if (action.type != type || action.stage != from) {
        continue;
      }
      const std::uint32_t made = operation(type, from, action.micro_batch);
      const std::uint32_t used = operation(type, to, action.micro_batch);
      if (local) {
        scene.depend(sender, made, used);
        continue;
      }
      scene.depend(sender, made, scene.message(sender, sending, channel.first, 0, action.micro_batch));
      scene.depend(receiver, scene.message(receiver, receiving, channel.second, 0, action.micro_batch), used);
    }
  }

  const ScheduleTable& table_;
  double per_rank_ = 1;
  int delay_ = 0;
  std::vector<std::map<Key, std::uint32_t>> compute_;
};

ScheduleTable table_of(const std::string& name, const schedules::ScheduleRequest& request) {
  const auto catalog = schedules::builtin_schedules();
  return catalog.find(name)->implementation->table(request).value();
}

/// expected.csv by table, each row by column.
std::map<std::string, std::map<std::string, std::string>> expected_results() {
  const auto rows = schedules::testing::read_csv(schedules::testing::reference_folder() / "expected.csv");
  std::map<std::string, std::map<std::string, std::string>> result;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    for (std::size_t column = 0; column < rows[i].size(); ++column) {
      result[rows[i][0]][rows[0][column]] = rows[i][column];
    }
  }
  return result;
}

TEST(ReplaySchedule, EqualsTheReferenceReplaysOfTheTables) {
  const auto tables = schedules::testing::reference_tables();
  if (tables.empty()) {
    GTEST_SKIP() << "measured and reference data are absent: " << schedules::testing::reference_folder();
  }
  constexpr double kPrinted = 5.1e-5;  // four decimals
  const auto expected = expected_results();
  for (const auto& reference : tables) {
    SCOPED_TRACE(reference.file);
    const auto& row = expected.at(reference.file.substr(0, reference.file.size() - 4));
    const ScheduleTable table = table_of(reference.schedule, schedules::testing::request_for(reference));
    const UnitTimeLowering prompt(table, 0);
    const timeline::Timeline timeline = prompt.scene.run();
    const double work = 3.0 * reference.micro_batches;
    EXPECT_DOUBLE_EQ(work, std::stod(row.at("work_per_rank")));
    EXPECT_NEAR(timeline.end_s, std::stod(row.at("makespan_c0")), kPrinted);
    EXPECT_NEAR(timeline.end_s - work, std::stod(row.at("bubble_c0")), kPrinted);
    std::istringstream peaks(row.at("peak_chunks_F_to_W_per_rank"));
    for (std::size_t rank = 0; rank < table.actions.size(); ++rank) {
      int peak = 0;
      peaks >> peak;
      EXPECT_EQ(prompt.peak_chunks(rank, timeline), peak) << "rank " << rank;
    }
    const UnitTimeLowering delayed(table, 0.5 / reference.chunks);
    EXPECT_NEAR(delayed.scene.run().end_s, std::stod(row.at("makespan_c0.5/v")), kPrinted);
  }
}

// Bubble (p - 1)(tF + tB), Narayanan et al., arXiv 2104.04473, section 2.2.1; tF = 1, tB = 2.
TEST(ReplaySchedule, GpipeAndOneForwardOneBackwardWaitPMinusOneForwardsAndBackwards) {
  for (const char* name : {"gpipe", "one_forward_one_backward"}) {
    for (const int ranks : {1, 2, 5}) {
      const schedules::ScheduleRequest request{ranks, 7, 10, {}};
      const ScheduleTable table = table_of(name, request);
      EXPECT_NEAR(UnitTimeLowering(table, 0).scene.run().end_s, 3 * 7 + 3 * (ranks - 1), 1e-9) << name << ' ' << ranks;
    }
  }
}

// The modular pipeline divides that by the chunks per rank when there are enough micro-batches, m >= p (Lamy-Poirier,
// arXiv 2106.02679).
TEST(ReplaySchedule, LayeredModularDividesTheBubbleByTheChunksPerRank) {
  for (const char* order : {"ascending", "descending"}) {
    for (const int chunks : {1, 2, 4}) {
      schedules::ScheduleRequest request{3, 6, 3 * chunks, {}};
      request.parameters.set_number("layers_per_chunk", 1);
      request.parameters.set_choice("backward_order", order);
      const ScheduleTable table = table_of("layered_modular", request);
      EXPECT_NEAR(UnitTimeLowering(table, 0).scene.run().end_s, 3.0 * 6 + 3.0 * (3 - 1) / chunks, 1e-9);
    }
  }
}

// One micro-batch visits all p v chunks alone: p (tF + tB), whatever the chunks.
TEST(ReplaySchedule, LayeredModularServesFewerMicroBatchesThanRanks) {
  schedules::ScheduleRequest request{4, 1, 8, {}};
  request.parameters.set_number("layers_per_chunk", 1);
  request.parameters.set_choice("backward_order", "ascending");
  const ScheduleTable table = table_of("layered_modular", request);
  EXPECT_NEAR(UnitTimeLowering(table, 0).scene.run().end_s, 4 * 3, 1e-9);
}

}  // namespace
}  // namespace lamina::replay
