#include "schedules/bubble_filling.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <queue>
#include <utility>

#include "sim/error/error.hpp"

namespace lamina::schedules {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

/// Progress of one rank, and when its inputs arrive.
struct RankState {
  double free_s = 0;
  int forwards = 0;
  int input_gradients = 0;
  int weight_gradients = 0;
  std::vector<double> activations_at;  ///< by micro-batch; kNever while unknown
  std::vector<double> gradients_at;

  [[nodiscard]] int ahead() const { return forwards - input_gradients; }

  [[nodiscard]] int deferred() const { return input_gradients - weight_gradients; }

  [[nodiscard]] double next_forward_at() const {
    const auto next = static_cast<std::size_t>(forwards);
    return next < activations_at.size() ? activations_at[next] : kNever;
  }

  [[nodiscard]] double next_input_gradient_at() const {
    return ahead() > 0 ? gradients_at[static_cast<std::size_t>(input_gradients)] : kNever;
  }
};

/// Runs all ranks against each other in time; a rank decides when it becomes free and when something arrives.
class Filling {
 public:
  Filling(const FillingTask& task, const FillingRule& rule)
      : task_(task), rule_(rule), order_(static_cast<std::size_t>(task.ranks)), ranks_(order_.size()) {
    const auto micro_batches = static_cast<std::size_t>(task.micro_batches);
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      ranks_[rank].activations_at.assign(micro_batches, rank == 0 ? 0 : kNever);
      ranks_[rank].gradients_at.assign(micro_batches, kNever);
      order_[rank].reserve(3 * micro_batches);
    }
  }

  [[nodiscard]] PassOrder run() {
    std::size_t left = 3 * static_cast<std::size_t>(task_.micro_batches) * ranks_.size();
    wake_ups_.emplace(0.0, 0);
    while (!wake_ups_.empty()) {
      const auto [now, rank] = wake_ups_.top();
      wake_ups_.pop();
      if (now >= ranks_[rank].free_s && decide(rank, now)) {
        --left;
      }
    }
    if (left > 0) {
      throw error::InternalError("bubble filling: ranks wait for each other");
    }
    return std::move(order_);
  }

 private:
  [[nodiscard]] bool may_go_forward(std::size_t rank) const {
    const RankState& state = ranks_[rank];
    const double kept = state.ahead() + task_.times.kept_for_weight_gradient * state.deferred();
    return kept + 1 <= task_.memory_limit && state.ahead() < rule_.most_ahead[rank];
  }

  /// Starts a pass on a free rank; false: it waits for something to arrive.
  bool decide(std::size_t rank, double now) {
    const RankState& state = ranks_[rank];
    const bool forward_fits = may_go_forward(rank);
    const bool forward = forward_fits && state.next_forward_at() <= now;
    const bool input_gradient = state.next_input_gradient_at() <= now;
    const bool weights_due = state.deferred() > rule_.most_deferred[rank];
    const bool forwards_turn = rule_.alternate && forward && !weights_due && !order_[rank].empty() &&
                               order_[rank].back() != ActionType::kForward;
    if (input_gradient && !forwards_turn) {
      start(rank, now, ActionType::kInputGradient);
    } else if (weights_due) {
      start(rank, now, ActionType::kWeightGradient);
    } else if (forward) {
      start(rank, now, ActionType::kForward);
    } else {
      const double next = std::min(state.next_input_gradient_at(), forward_fits ? state.next_forward_at() : kNever);
      const double weight_gradient = task_.times.weight_gradient_s;
      if (state.deferred() == 0 || now + weight_gradient - next > rule_.overrun * weight_gradient) {
        return false;
      }
      start(rank, now, ActionType::kWeightGradient);
    }
    return true;
  }

  void start(std::size_t rank, double now, ActionType type) {
    RankState& state = ranks_[rank];
    const RankTimes& times = task_.times;
    order_[rank].push_back(type);
    if (type == ActionType::kForward) {
      state.free_s = now + times.forward_s;
      const auto micro_batch = static_cast<std::size_t>(state.forwards++);
      if (rank + 1 < ranks_.size()) {
        arrive(rank + 1, ranks_[rank + 1].activations_at[micro_batch], state.free_s + times.message_s);
      } else {
        state.gradients_at[micro_batch] = state.free_s;
      }
    } else if (type == ActionType::kInputGradient) {
      state.free_s = now + times.input_gradient_s;
      const auto micro_batch = static_cast<std::size_t>(state.input_gradients++);
      if (rank > 0) {
        arrive(rank - 1, ranks_[rank - 1].gradients_at[micro_batch], state.free_s + times.message_s);
      }
    } else {
      state.free_s = now + times.weight_gradient_s;
      ++state.weight_gradients;
    }
    wake_ups_.emplace(state.free_s, rank);
  }

  void arrive(std::size_t rank, double& slot, double at) {
    slot = at;
    wake_ups_.emplace(at, rank);
  }

  using WakeUp = std::pair<double, std::size_t>;  // time, rank

  const FillingTask& task_;
  const FillingRule& rule_;
  PassOrder order_;
  std::vector<RankState> ranks_;
  std::priority_queue<WakeUp, std::vector<WakeUp>, std::greater<>> wake_ups_;
};

/// Executes an order in time; ranks are revisited until none can go on.
class Execution {
 public:
  Execution(const FillingTask& task, const PassOrder& order) : task_(task), order_(order), ranks_(order.size()) {
    const auto micro_batches = static_cast<std::size_t>(task.micro_batches);
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      ranks_[rank].activations_at.assign(micro_batches, rank == 0 ? 0 : kNever);
      ranks_[rank].gradients_at.assign(micro_batches, kNever);
    }
  }

  [[nodiscard]] Extent run() {
    std::vector<std::size_t> position(ranks_.size(), 0);
    std::vector<double> first_start(ranks_.size(), 0);
    for (bool progress = true; progress;) {
      progress = false;
      for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
        while (position[rank] < order_[rank].size()) {
          const double start = step(rank, order_[rank][position[rank]]);
          if (start == kNever) {
            break;
          }
          if (position[rank]++ == 0) {
            first_start[rank] = start;
          }
          progress = true;
        }
      }
    }
    Extent extent;
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      if (position[rank] < order_[rank].size()) {
        throw error::InternalError("bubble filling: an order deadlocks");
      }
      extent.span_s = std::max(extent.span_s, ranks_[rank].free_s - first_start[rank]);
      extent.makespan_s = std::max(extent.makespan_s, ranks_[rank].free_s);
    }
    return extent;
  }

 private:
  /// Start of the rank's next pass, kNever while its input is not known.
  double step(std::size_t rank, ActionType type) {
    RankState& state = ranks_[rank];
    const RankTimes& times = task_.times;
    double ready = 0;
    double duration = times.weight_gradient_s;
    if (type == ActionType::kForward) {
      ready = state.next_forward_at();
      duration = times.forward_s;
    } else if (type == ActionType::kInputGradient) {
      ready = state.next_input_gradient_at();
      duration = times.input_gradient_s;
    }
    if (ready == kNever) {
      return kNever;
    }
    const double start = std::max(state.free_s, ready);
    state.free_s = start + duration;
    if (type == ActionType::kForward) {
      const auto micro_batch = static_cast<std::size_t>(state.forwards++);
      const bool last = rank + 1 == ranks_.size();
      (last ? state.gradients_at : ranks_[rank + 1].activations_at)[micro_batch] =
          state.free_s + (last ? 0 : times.message_s);
    } else if (type == ActionType::kInputGradient) {
      const auto micro_batch = static_cast<std::size_t>(state.input_gradients++);
      if (rank > 0) {
        ranks_[rank - 1].gradients_at[micro_batch] = state.free_s + times.message_s;
      }
    }
    return start;
  }

  const FillingTask& task_;
  const PassOrder& order_;
  std::vector<RankState> ranks_;
};

}  // namespace

PassOrder fill_bubbles(const FillingTask& task, const FillingRule& rule) {
  return Filling(task, rule).run();
}

Extent extent_of(const FillingTask& task, const PassOrder& order) {
  return Execution(task, order).run();
}

}  // namespace lamina::schedules
