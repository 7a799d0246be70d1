#include "sim/schedule_tables/add_messages.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "sim/error/error.hpp"
#include "sim/schedule_tables/lowered_table.hpp"

namespace lamina::schedule_tables {
namespace {

using schedules::LoweredAction;
using schedules::LoweredRows;
using schedules::LoweredType;
using schedules::ScheduleTable;
using schedules::Stage;

class Sweep {
 public:
  Sweep(const ScheduleTable& table, const LoweredRows& rows)
      : table_(table),
        rows_(rows),
        result_(rows.size()),
        position_(rows.size(), 0),
        asleep_(rows.size(), false),
        forward_done_(table.stages.size() * static_cast<std::size_t>(table.micro_batches), false),
        gradient_done_(forward_done_.size(), false) {}

  LoweredRows run() {
    for (std::size_t rank = 0; rank < rows_.size(); ++rank) {
      result_[rank].reserve(rows_[rank].size() * 2);
      turns_.emplace(0, rank);
    }
    while (!turns_.empty()) {
      const auto [sweep, rank] = turns_.top();
      turns_.pop();
      take_turn(sweep, rank);
    }
    for (std::size_t rank = 0; rank < rows_.size(); ++rank) {
      if (position_[rank] < rows_[rank].size()) {
        throw error::InternalError(fmt::format("messages of a schedule that deadlocks: rank {} never gets to {}", rank,
                                               to_string(rows_[rank][position_[rank]])));
      }
    }
    return std::move(result_);
  }

 private:
  using Turn = std::pair<std::uint64_t, std::size_t>;  ///< sweep, rank

  void take_turn(std::uint64_t sweep, std::size_t rank) {
    const std::vector<LoweredAction>& row = rows_[rank];
    std::size_t& position = position_[rank];
    if (position == row.size()) {
      return;
    }
    const std::size_t halves = row[position].paired_with_next && position + 1 < row.size() ? 2 : 1;
    for (std::size_t i = position; i < position + halves; ++i) {
      if (!has_input(row[i], i == position ? nullptr : &row[position])) {
        asleep_[rank] = true;
        return;
      }
    }
    asleep_[rank] = false;
    const std::size_t end = position + halves;
    result_[rank].insert(result_[rank].end(), row.begin() + static_cast<std::ptrdiff_t>(position),
                         row.begin() + static_cast<std::ptrdiff_t>(end));
    for (; position < end; ++position) {
      hand_over(sweep, rank, row[position]);
    }
    turns_.emplace(sweep + 1, rank);
  }

  /// @param partner first half of the pair whose second half is asked about: the halves are one after the other
  [[nodiscard]] bool has_input(const LoweredAction& action, const LoweredAction* partner) const {
    const Stage& stage = table_.stages[static_cast<std::size_t>(action.stage)];
    const auto is_done = [&](const std::vector<bool>& done, int producer, bool forward) {
      const bool by_partner = partner != nullptr && partner->stage == producer &&
                              partner->micro_batch == action.micro_batch &&
                              (forward ? partner->type == LoweredType::kForward : makes_gradient(*partner));
      return producer < 0 || by_partner || done[index_of(producer, action.micro_batch)];
    };
    if (action.type == LoweredType::kForward) {
      return is_done(forward_done_, stage.previous, true);
    }
    return !makes_gradient(action) || is_done(gradient_done_, stage.next, false);
  }

  static bool makes_gradient(const LoweredAction& action) {
    return action.type == LoweredType::kBackward || action.type == LoweredType::kInputGradient;
  }

  /// Notes that the action is done, writes its message, and wakes the rank that may have waited for it.
  void hand_over(std::uint64_t sweep, std::size_t rank, const LoweredAction& action) {
    const bool is_forward = action.type == LoweredType::kForward;
    if (!is_forward && !makes_gradient(action)) {
      return;
    }
    (is_forward ? forward_done_ : gradient_done_)[index_of(action.stage, action.micro_batch)] = true;
    const Stage& stage = table_.stages[static_cast<std::size_t>(action.stage)];
    const int consumer = is_forward ? stage.next : stage.previous;
    if (consumer < 0) {
      return;
    }
    const auto other = static_cast<std::size_t>(table_.stages[static_cast<std::size_t>(consumer)].rank);
    if (other == rank) {
      return;
    }
    result_[rank].push_back({.type = is_forward ? LoweredType::kSendForward : LoweredType::kSendBackward,
                             .stage = action.stage,
                             .micro_batch = action.micro_batch});
    result_[other].push_back({.type = is_forward ? LoweredType::kReceiveForward : LoweredType::kReceiveBackward,
                              .stage = consumer,
                              .micro_batch = action.micro_batch});
    if (asleep_[other]) {
      asleep_[other] = false;
      turns_.emplace(other > rank ? sweep : sweep + 1, other);
    }
  }

  [[nodiscard]] std::size_t index_of(int stage, int micro_batch) const {
    return static_cast<std::size_t>(stage) * static_cast<std::size_t>(table_.micro_batches) +
           static_cast<std::size_t>(micro_batch);
  }

  const ScheduleTable& table_;
  const LoweredRows& rows_;
  LoweredRows result_;
  std::vector<std::size_t> position_;  ///< by rank: the next action of `rows_`
  std::vector<bool> asleep_;           ///< by rank: its next action waits for another rank
  std::vector<bool> forward_done_;
  std::vector<bool> gradient_done_;
  std::priority_queue<Turn, std::vector<Turn>, std::greater<>> turns_;
};

}  // namespace

LoweredRows add_messages(const ScheduleTable& table, const LoweredRows& rows) {
  return Sweep(table, rows).run();
}

}  // namespace lamina::schedule_tables
