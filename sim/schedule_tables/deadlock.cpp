#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <fmt/format.h>

#include "sim/schedule_tables/checks.hpp"
#include "sim/schedule_tables/in_order_run.hpp"

namespace lamina::schedule_tables {
namespace {

using schedules::Action;
using schedules::ActionType;
using schedules::ScheduleTable;
using schedules::Stage;

/// Where the passes of a complete table stand, and what each needs.
class Passes {
 public:
  explicit Passes(const ScheduleTable& table)
      : table_(table), micro_batches_(static_cast<std::size_t>(micro_batches_per_stage(table))) {
    const std::size_t passes = table.stages.size() * micro_batches_;
    forward_.resize(passes);
    backward_.resize(passes);
    for (const std::vector<Action>& row : table.actions) {
      for (std::size_t position = 0; position < row.size(); ++position) {
        if (row[position].type != ActionType::kWeightGradient) {
          auto& positions = row[position].type == ActionType::kForward ? forward_ : backward_;
          positions[index(row[position].stage, row[position].micro_batch)] = position;
        }
      }
    }
  }

  [[nodiscard]] const Action& at(const Place& place) const {
    return table_.actions[static_cast<std::size_t>(place.rank)][place.position];
  }

  /// Inputs of the action at a place; where it is the first of a pair, of both halves.
  void add_needs(const Place& place, std::vector<Place>& needs) const {
    add_inputs(at(place), needs);
    if (at(place).paired_with_next) {
      add_inputs(at({place.rank, place.position + 1}), needs);
    }
  }

 private:
  [[nodiscard]] std::size_t index(int stage, int micro_batch) const {
    return static_cast<std::size_t>(stage) * micro_batches_ + static_cast<std::size_t>(micro_batch);
  }

  [[nodiscard]] Place place_of(const std::vector<std::size_t>& positions, int stage, int micro_batch) const {
    return {table_.stages[static_cast<std::size_t>(stage)].rank, positions[index(stage, micro_batch)]};
  }

  void add_inputs(const Action& action, std::vector<Place>& needs) const {
    const Stage& stage = table_.stages[static_cast<std::size_t>(action.stage)];
    switch (action.type) {
      case ActionType::kForward:
        if (stage.previous != -1) {
          needs.push_back(place_of(forward_, stage.previous, action.micro_batch));
        }
        return;
      case ActionType::kWeightGradient:
        needs.push_back(place_of(backward_, action.stage, action.micro_batch));
        return;
      default:
        needs.push_back(place_of(forward_, action.stage, action.micro_batch));
        if (stage.next != -1) {
          needs.push_back(place_of(backward_, stage.next, action.micro_batch));
        }
    }
  }

  const ScheduleTable& table_;
  std::size_t micro_batches_;
  std::vector<std::size_t> forward_;   ///< position in its rank's row, by stage and micro-batch
  std::vector<std::size_t> backward_;  ///< of B or I
};

}  // namespace

std::optional<TableFault> find_deadlock_fault(const ScheduleTable& table) {
  const Passes passes(table);
  InOrderRows rows;
  for (const std::vector<Action>& row : table.actions) {
    rows.lengths.push_back(row.size());
  }
  rows.needs = [&passes](const Place& place, std::vector<Place>& needs) { passes.add_needs(place, needs); };
  rows.is_paired = [&passes](const Place& place) { return passes.at(place).paired_with_next; };
  const std::vector<Wait> cycle = find_cycle_of_waits(rows);
  if (cycle.empty()) {
    return std::nullopt;
  }
  const Place& first = cycle.front().at;
  if (const Action& action = passes.at(first); action.paired_with_next) {
    if (cycle.front().for_action == Place{first.rank, first.position + 1} || cycle.front().for_action == first) {
      return TableFault{first.rank, first.position,
                        fmt::format("Rank {} pairs {} with {}, but one of them needs the other.", first.rank,
                                    to_string(action), to_string(passes.at({first.rank, first.position + 1})))};
    }
  }
  const auto name = [&passes](const Place& place) { return to_string(passes.at(place)); };
  return TableFault{first.rank, first.position,
                    fmt::format("The rows deadlock. {}", describe_cycle(rows, cycle, name))};
}

}  // namespace lamina::schedule_tables
