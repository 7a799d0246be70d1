#include "sim/schedule_tables/numbering.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "sim/schedule_tables/checks.hpp"

namespace lamina::schedule_tables {
namespace {

using schedules::ActionType;

/// The micro-batch numbers of one kind of pass.
struct Numbers {
  int count = 0;
  int lowest = std::numeric_limits<int>::max();
  int highest = std::numeric_limits<int>::min();

  void add(int number) {
    ++count;
    lowest = std::min(lowest, number);
    highest = std::max(highest, number);
  }

  /// first, first + 1, ... without a gap, since no number is there twice
  [[nodiscard]] bool count_from(int first) const {
    return count > 0 && lowest == first && highest == first + count - 1;
  }
};

struct StageNumbers {
  Numbers forwards;
  Numbers backwards;  ///< B or I
};

StageNumbers numbers_of(std::span<const IndexedAction> actions) {
  StageNumbers result;
  for (const IndexedAction& action : actions) {
    if (action.type == ActionType::kForward) {
      result.forwards.add(action.micro_batch);
    } else if (action.type != ActionType::kWeightGradient) {
      result.backwards.add(action.micro_batch);
    }
  }
  return result;
}

/// "1 to 8 instead of 0 to 7"
std::string shifted(const Numbers& numbers) {
  return numbers.count == 1 ? "1 instead of 0"
                            : fmt::format("1 to {} instead of 0 to {}", numbers.count, numbers.count - 1);
}

TableFault fault_at_first(const schedules::ScheduleTable& table, std::size_t stage, bool forward, std::string text) {
  const int rank = table.stages[stage].rank;
  const auto& row = table.actions[static_cast<std::size_t>(rank)];
  const auto first = std::find_if(row.begin(), row.end(), [&](const schedules::Action& action) {
    return static_cast<std::size_t>(action.stage) == stage && (!forward || action.type == ActionType::kForward);
  });
  return {rank, static_cast<std::size_t>(first - row.begin()), std::move(text)};
}

}  // namespace

std::optional<TableFault> find_numbering_fault(const schedules::ScheduleTable& table, const ActionIndex& index) {
  const int micro_batches = micro_batches_per_stage(table);
  const int count = numbers_of(index.of_stage(0)).forwards.count;
  bool every_stage_counts = true;  // the same number, from 0 or 1: then no stage lacks one that others have
  std::optional<TableFault> from_one;
  for (std::size_t stage = 0; stage < table.stages.size(); ++stage) {
    const auto [forwards, backwards] = numbers_of(index.of_stage(stage));
    const int rank = table.stages[stage].rank;
    if (forwards.count == backwards.count && forwards.count_from(1) && backwards.count_from(0)) {
      const char* why = table.stages[stage].next != -1
                            ? "its backwards count from 0"
                            : "PyTorch's text form of Schedule1F1B has this known misnumbering in the last row; "
                              "subtract 1";
      return fault_at_first(
          table, stage, true,
          fmt::format("The forwards of stage {} on rank {} are numbered {}: {}.", stage, rank, shifted(forwards), why));
    }
    const bool counts_from_one = forwards.count_from(1) && backwards.count_from(1);
    every_stage_counts = every_stage_counts && forwards.count == count && backwards.count == count &&
                         (counts_from_one || (forwards.count_from(0) && backwards.count_from(0)));
    if (!counts_from_one) {
      continue;
    }
    auto fault = fault_at_first(
        table, stage, false,
        fmt::format("The micro-batches of stage {} on rank {} are numbered {}.", stage, rank, shifted(forwards)));
    if (forwards.count == micro_batches) {
      return fault;
    }
    if (!from_one) {
      from_one = std::move(fault);
    }
  }
  return every_stage_counts ? from_one : std::nullopt;
}

}  // namespace lamina::schedule_tables
