#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "schedules/schedule.hpp"
#include "tests/unit/replay/scene.hpp"

/// Unit-time replays of schedule tables: a pass of a chunk lasts 1 / v of its unit time, messages only their delay.
namespace lamina::replay::testing {

using schedules::Action;
using schedules::ActionType;
using schedules::ScheduleTable;

/// Times of a rank's whole share of the model; a backward lasts the sum of its two halves.
struct UnitTimes {
  double forward = 1;
  double input_gradient = 1;
  double weight_gradient = 1;

  [[nodiscard]] double of(ActionType type) const {
    switch (type) {
      case ActionType::kForward:
        return forward;
      case ActionType::kInputGradient:
        return input_gradient;
      case ActionType::kWeightGradient:
        return weight_gradient;
      case ActionType::kBackward:
        return input_gradient + weight_gradient;
    }
    return 0;
  }
};

inline constexpr UnitTimes kBalanced;
inline constexpr UnitTimes kUnbalanced{1, 1.25, 0.75};

/// A table as operations: one compute stream per rank, and per stage boundary and direction one channel with a stream
/// of its own at both ends, so that messages only delay. A pair is one operation that waits for the inputs of both.
class UnitTimeLowering {
 public:
  /// Of a message: sending stage, receiving stage, micro-batch.
  using MessageFilter = std::function<bool(int, int, int)>;

  /// Messages that `left_out` names are not waited for.
  UnitTimeLowering(const ScheduleTable& table, double delay, const UnitTimes& times = kBalanced,
                   const MessageFilter& left_out = {})
      : table_(table) {
    const auto ranks = table.actions.size();
    const double chunks = static_cast<double>(table.model_chunks) / static_cast<double>(ranks);
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      scene.stream(scene.rank());
    }
    delay_ = scene.path({}, delay);
    compute_.resize(ranks);
    operation_of_.resize(ranks);
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      bool paired = false;
      for (const Action& action : table.actions[rank]) {
        const double duration = times.of(action.type) / chunks;
        if (paired) {
          scene.programs[rank].operations[operation_of_[rank].back()].duration_s += duration;
          operation_of_[rank].push_back(operation_of_[rank].back());
        } else {
          operation_of_[rank].push_back(scene.compute(static_cast<int>(rank), 0, duration));
        }
        paired = action.paired_with_next;
        compute_[rank][key(result_of(action.type), action.stage, action.micro_batch)] = operation_of_[rank].back();
      }
    }
    for (int stage = 0; stage < static_cast<int>(table.stages.size()); ++stage) {
      if (const int next = at(stage).next; next != -1) {
        connect(ActionType::kForward, stage, next, left_out);
        connect(ActionType::kBackward, next, stage, left_out);
      }
      depend_within(stage);
    }
  }

  /// Largest number of chunks of a rank between the start of their forward and the end of the last of `until`.
  [[nodiscard]] int peak_chunks(std::size_t rank, const timeline::Timeline& timeline, ActionType until) const {
    std::vector<std::pair<double, int>> changes;
    for (std::size_t i = 0; i < table_.actions[rank].size(); ++i) {
      const timeline::Span& span = timeline.spans[rank][operation_of_[rank][i]];
      const ActionType type = table_.actions[rank][i].type;
      if (type == ActionType::kForward) {
        changes.emplace_back(span.start, 1);
      } else if (type == ActionType::kBackward || type == until) {
        changes.emplace_back(span.end, -1);
      }
    }
    // Frees before it takes at the same time; replayed times are sums in different orders.
    std::sort(changes.begin(), changes.end(), [](const auto& a, const auto& b) {
      return std::abs(a.first - b.first) > 1e-9 ? a.first < b.first : a.second < b.second;
    });
    int alive = 0;
    int peak = 0;
    for (const auto& [time, change] : changes) {
      alive += change;
      peak = std::max(peak, alive);
    }
    return peak;
  }

  /// Longest time of a rank from its first start to its last end.
  [[nodiscard]] double longest_span(const timeline::Timeline& timeline) const {
    double longest = 0;
    for (std::size_t rank = 0; rank < operation_of_.size(); ++rank) {
      const double start = timeline.spans[rank][operation_of_[rank].front()].start;
      longest = std::max(longest, timeline.spans[rank][operation_of_[rank].back()].end - start);
    }
    return longest;
  }

  /// Of the action at a position of a rank's row.
  [[nodiscard]] const timeline::Span& span_of(const timeline::Timeline& timeline, std::size_t rank,
                                              std::size_t position) const {
    return timeline.spans[rank][operation_of_[rank][position]];
  }

  Scene scene;

 private:
  using Key = std::tuple<ActionType, int, int>;

  static Key key(ActionType type, int stage, int micro_batch) { return {type, stage, micro_batch}; }

  /// I hands over what B does.
  static ActionType result_of(ActionType type) {
    return type == ActionType::kInputGradient ? ActionType::kBackward : type;
  }

  [[nodiscard]] const schedules::Stage& at(int stage) const { return table_.stages[static_cast<std::size_t>(stage)]; }

  [[nodiscard]] std::uint32_t operation(ActionType type, int stage, int micro_batch) const {
    return compute_[static_cast<std::size_t>(at(stage).rank)].at(key(type, stage, micro_batch));
  }

  /// A stage's backward needs its forward, its weight gradient its input gradient.
  void depend_within(int stage) {
    const int rank = at(stage).rank;
    for (const auto& [made, after] : compute_[static_cast<std::size_t>(rank)]) {
      const auto& [type, of_stage, micro_batch] = made;
      if (of_stage == stage && type != ActionType::kForward) {
        const ActionType before = type == ActionType::kBackward ? ActionType::kForward : ActionType::kBackward;
        scene.depend(rank, operation(before, stage, micro_batch), after);
      }
    }
  }

  /// Hands the results of `from` to `to`, in the order in which `from` makes them.
  void connect(ActionType type, int from, int to, const MessageFilter& left_out) {
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
      if (result_of(action.type) != type || action.stage != from ||
          (left_out && left_out(from, to, action.micro_batch))) {
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
  int delay_ = 0;
  std::vector<std::map<Key, std::uint32_t>> compute_;
  std::vector<std::vector<std::uint32_t>> operation_of_;  ///< by rank and position in the table's row
};

}  // namespace lamina::replay::testing
