#include "schedules/dual_pipe_steps.hpp"

#include <cstddef>
#include <deque>

namespace lamina::schedules {
namespace {

class Row {
 public:
  Row(const DualPipeRank& rank, std::vector<Action>& row) : rank_(rank), row_(row) {}

  void forward(std::size_t phase, bool paired = false) {
    row_.push_back({ActionType::kForward, rank_.stages[phase], forwards_[phase]++, paired});
  }

  void backward(std::size_t phase, bool split = false) {
    const ActionType type = split ? ActionType::kInputGradient : ActionType::kBackward;
    row_.push_back({type, rank_.stages[phase], backwards_[phase]++});
    if (split) {
      deferred_.push_back({ActionType::kWeightGradient, row_.back().stage, row_.back().micro_batch});
    }
  }

  void pair(std::size_t forward_phase) {
    forward(forward_phase, true);
    backward(1 - forward_phase);
  }

  void weight_gradient() {
    row_.push_back(deferred_.front());
    deferred_.pop_front();
  }

 private:
  const DualPipeRank& rank_;
  std::vector<Action>& row_;
  std::array<int, 2> forwards_{};
  std::array<int, 2> backwards_{};
  std::deque<Action> deferred_;
};

/// Steps 1 to 3: fill from both sides.
void fill(int distance, int rest, Row& row) {
  for (int i = 0; i < 2 * rest; ++i) {
    row.forward(0);
  }
  for (int i = 0; i <= distance; ++i) {
    row.forward(0);
    row.forward(1);
  }
  for (int i = 0; i < rest; ++i) {
    row.backward(1, true);
    row.weight_gradient();
    row.forward(1);
  }
}

/// Steps 6 to 8: drain. Half way through step 6 the backwards become split.
void drain(int distance, int rest, Row& row) {
  const int turn = (distance + 1) / 2;
  const bool before_phase_1 = distance % 2 == 1;
  for (int i = 0; i <= distance; ++i) {
    row.backward(1, i > turn || (i == turn && before_phase_1));
    row.backward(0, i >= turn);
  }
  for (int i = 0; i < rest; ++i) {
    row.weight_gradient();
    row.backward(0, true);
  }
  for (int i = 0; i <= distance; ++i) {
    row.weight_gradient();
  }
}

}  // namespace

void write_dual_pipe_row(const DualPipeRank& rank, std::vector<Action>& row_of_rank) {
  Row row(rank, row_of_rank);
  const int rest = rank.depth - rank.distance - 1;
  fill(rank.distance, rest, row);
  for (int i = 0; i < rank.micro_batches_per_phase - 2 * rank.depth + rank.distance + 1; ++i) {
    if (i == 0 && rest == 0) {  // where the phases meet, the first forward's output is this rank's next input
      row.forward(0);
      row.backward(1);
    } else {
      row.pair(0);
    }
    row.pair(1);
  }
  for (int i = 0; i < rest; ++i) {
    row.backward(1);
    row.pair(1);
  }
  drain(rank.distance, rest, row);
}

}  // namespace lamina::schedules
