#include <cstddef>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "sim/schedule_tables/checks.hpp"

namespace lamina::schedule_tables {
namespace {

using schedules::Action;
using schedules::ScheduleTable;
using schedules::Stage;

/// A fault of the stages themselves; there is no action to point at.
std::optional<TableFault> whole(std::string text) {
  return TableFault{0, 0, std::move(text)};
}

/// "stages 0 to 7", "stage 0"
std::string range_of(const char* what, std::size_t count) {
  return count == 1 ? fmt::format("only {} 0", what) : fmt::format("only {}s 0 to {}", what, count - 1);
}

std::optional<TableFault> find_size_fault(const ScheduleTable& table) {
  if (table.actions.empty() || table.stages.empty() || table.micro_batches < 1 || table.model_chunks < 1) {
    return whole(
        fmt::format("The table has {} ranks, {} stages, {} micro-batches and {} model chunks; it needs at least one of "
                    "each.",
                    table.actions.size(), table.stages.size(), table.micro_batches, table.model_chunks));
  }
  const auto chunks = static_cast<std::size_t>(table.model_chunks);
  if (table.stages.size() % chunks != 0) {
    return whole(fmt::format("{} stages do not make whole copies of {} model chunks.", table.stages.size(), chunks));
  }
  const std::size_t copies = table.stages.size() / chunks;
  if (static_cast<std::size_t>(table.micro_batches) % copies != 0) {
    return whole(
        fmt::format("{} micro-batches cannot be dealt to {} copies of the model.", table.micro_batches, copies));
  }
  return std::nullopt;
}

/// The stage at the other end of a link must link back, and hold the chunk before or behind.
std::optional<TableFault> find_link_fault(const ScheduleTable& table, int number) {
  const Stage& stage = table.stages[static_cast<std::size_t>(number)];
  const int stages = static_cast<int>(table.stages.size());
  if (stage.previous < -1 || stage.previous >= stages || stage.next < -1 || stage.next >= stages) {
    return whole(fmt::format("Stage {} lies between stages {} and {}, but there are {}.", number, stage.previous,
                             stage.next, range_of("stage", table.stages.size())));
  }
  if ((stage.model_chunk == 0) != (stage.previous == -1) ||
      (stage.model_chunk == table.model_chunks - 1) != (stage.next == -1)) {
    return whole(
        fmt::format("Stage {} holds chunk {} of {} and lies between stages {} and {} (-1: an end of the model).",
                    number, stage.model_chunk, table.model_chunks, stage.previous, stage.next));
  }
  if (stage.next == -1) {
    return std::nullopt;
  }
  const Stage& next = table.stages[static_cast<std::size_t>(stage.next)];
  if (next.previous != number || next.model_chunk != stage.model_chunk + 1) {
    return whole(
        fmt::format("Stage {} with model chunk {} sends to stage {}, which holds chunk {} and receives from {}.",
                    number, stage.model_chunk, stage.next, next.model_chunk, next.previous));
  }
  return std::nullopt;
}

std::optional<TableFault> find_stage_fault(const ScheduleTable& table) {
  for (int number = 0; number < static_cast<int>(table.stages.size()); ++number) {
    const Stage& stage = table.stages[static_cast<std::size_t>(number)];
    if (stage.rank < 0 || static_cast<std::size_t>(stage.rank) >= table.actions.size()) {
      return whole(fmt::format("Stage {} is on rank {}, but there are {}.", number, stage.rank,
                               range_of("rank", table.actions.size())));
    }
    if (stage.model_chunk < 0 || stage.model_chunk >= table.model_chunks) {
      return whole(fmt::format("Stage {} holds model chunk {}, but there are {}.", number, stage.model_chunk,
                               range_of("chunk", static_cast<std::size_t>(table.model_chunks))));
    }
    if (auto fault = find_link_fault(table, number)) {
      return fault;
    }
  }
  return std::nullopt;
}

/// Calls `check(rank, position, row)` for every action until it returns a fault.
template <class Check>
std::optional<TableFault> first_fault(const ScheduleTable& table, const Check& check) {
  for (std::size_t rank = 0; rank < table.actions.size(); ++rank) {
    const std::vector<Action>& row = table.actions[rank];
    for (std::size_t position = 0; position < row.size(); ++position) {
      if (std::string text = check(rank, position, row); !text.empty()) {
        return TableFault{static_cast<int>(rank), position, std::move(text)};
      }
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<TableFault> find_structure_fault(const ScheduleTable& table) {
  if (auto fault = find_size_fault(table)) {
    return fault;
  }
  if (auto fault = find_stage_fault(table)) {
    return fault;
  }
  using Row = std::vector<Action>;
  auto unknown = first_fault(table, [&](std::size_t rank, std::size_t position, const Row& row) -> std::string {
    const int stage = row[position].stage;
    if (stage >= 0 && static_cast<std::size_t>(stage) < table.stages.size()) {
      return "";
    }
    return fmt::format("Rank {} computes {}, but there are {}.", rank, to_string(row[position]),
                       range_of("stage", table.stages.size()));
  });
  if (unknown) {
    return unknown;
  }
  auto foreign = first_fault(table, [&](std::size_t rank, std::size_t position, const Row& row) -> std::string {
    const int owner = table.stages[static_cast<std::size_t>(row[position].stage)].rank;
    if (static_cast<std::size_t>(owner) == rank) {
      return "";
    }
    return fmt::format("Rank {} computes {}, but stage {} belongs to rank {}.", rank, to_string(row[position]),
                       row[position].stage, owner);
  });
  if (foreign) {
    return foreign;
  }
  return first_fault(table, [&](std::size_t rank, std::size_t position, const Row& row) -> std::string {
    if (!row[position].paired_with_next) {
      return "";
    }
    if (position + 1 == row.size()) {
      return fmt::format("Rank {} pairs {}, its last action, with the next one.", rank, to_string(row[position]));
    }
    if (!row[position + 1].paired_with_next) {
      return "";
    }
    return fmt::format("Rank {} pairs {} with {}, which is paired as well: a pair has two actions.", rank,
                       to_string(row[position]), to_string(row[position + 1]));
  });
}

}  // namespace lamina::schedule_tables
