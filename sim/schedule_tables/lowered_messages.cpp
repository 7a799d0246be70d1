#include <cstddef>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "sim/schedule_tables/checks.hpp"
#include "sim/schedule_tables/in_order_run.hpp"
#include "sim/schedule_tables/lowered_checks.hpp"
#include "sim/schedule_tables/lowered_table.hpp"

namespace lamina::schedule_tables {
namespace {

using schedules::LoweredAction;
using schedules::LoweredType;
using schedules::ScheduleTable;

/// The four types of one direction.
struct Direction {
  bool forward = true;
  LoweredType pass;
  LoweredType send;
  LoweredType receive;
};

constexpr Direction kActivations = {true, LoweredType::kForward, LoweredType::kSendForward,
                                    LoweredType::kReceiveForward};
constexpr Direction kGradients = {false, LoweredType::kBackward, LoweredType::kSendBackward,
                                  LoweredType::kReceiveBackward};

std::string cell(LoweredType type, int stage, int micro_batch) {
  return to_string(LoweredAction{type, stage, micro_batch});
}

/// Checks the messages of one direction.
class Messages {
 public:
  Messages(const ScheduleTable& table, const LoweredIndex& index, const Direction& direction)
      : table_(table), index_(index), direction_(direction), micro_batches_(micro_batches_per_stage(table)) {}

  [[nodiscard]] std::optional<TableFault> find() const {
    for (int stage = 0; stage < static_cast<int>(table_.stages.size()); ++stage) {
      const int target = target_of(stage);
      const bool crosses = target != -1 && rank_of(target) != rank_of(stage);
      for (int micro_batch = 0; micro_batch < micro_batches_; ++micro_batch) {
        auto fault = crosses ? find_in(stage, target, micro_batch) : find_needless(stage, target, micro_batch);
        if (fault) {
          return fault;
        }
      }
    }
    return std::nullopt;
  }

 private:
  [[nodiscard]] int rank_of(int stage) const { return table_.stages[static_cast<std::size_t>(stage)].rank; }

  [[nodiscard]] int target_of(int stage) const {
    const schedules::Stage& from = table_.stages[static_cast<std::size_t>(stage)];
    return direction_.forward ? from.next : from.previous;
  }

  /// The pass as the table has it, whole or split.
  [[nodiscard]] std::string pass_name(int stage, int micro_batch) const {
    const auto& row = table_.lowered[static_cast<std::size_t>(rank_of(stage))];
    return to_string(row[index_.position(direction_.pass, stage, micro_batch)]);
  }

  [[nodiscard]] TableFault fault(int stage, std::size_t position, std::string text) const {
    return {rank_of(stage), position, std::move(text)};
  }

  [[nodiscard]] std::optional<TableFault> find_in(int stage, int target, int micro_batch) const {
    const std::size_t sent = index_.position(direction_.send, stage, micro_batch);
    const std::size_t received = index_.position(direction_.receive, target, micro_batch);
    const auto send = [&] { return cell(direction_.send, stage, micro_batch); };
    const auto receive = [&] { return cell(direction_.receive, target, micro_batch); };
    const std::size_t made = index_.position(direction_.pass, stage, micro_batch);
    const std::size_t used = index_.position(direction_.pass, target, micro_batch);
    if (sent == LoweredIndex::kNowhere && received == LoweredIndex::kNowhere) {
      return fault(
          target, used,
          fmt::format("Rank {} computes {}, but what it needs of rank {} is never sent: {} and {} are missing.",
                      rank_of(target), pass_name(target, micro_batch), rank_of(stage), send(), receive()));
    }
    if (received == LoweredIndex::kNowhere) {
      return fault(stage, sent,
                   fmt::format("Rank {} issues {}, but rank {} never issues {}.", rank_of(stage), send(),
                               rank_of(target), receive()));
    }
    if (sent == LoweredIndex::kNowhere) {
      return fault(target, received,
                   fmt::format("Rank {} issues {}, but rank {} never issues {}.", rank_of(target), receive(),
                               rank_of(stage), send()));
    }
    if (sent < made) {
      return fault(stage, sent,
                   fmt::format("Rank {} issues {} before {}, which makes what is sent.", rank_of(stage), send(),
                               pass_name(stage, micro_batch)));
    }
    if (received > used) {
      return fault(target, received,
                   fmt::format("Rank {} issues {} after {}, which needs it.", rank_of(target), receive(),
                               pass_name(target, micro_batch)));
    }
    return std::nullopt;
  }

  /// Messages out of a stage with nobody, or the rank itself, at the other end.
  [[nodiscard]] std::optional<TableFault> find_needless(int stage, int target, int micro_batch) const {
    const std::size_t sent = index_.position(direction_.send, stage, micro_batch);
    if (sent != LoweredIndex::kNowhere) {
      return needless(stage, sent, direction_.send, micro_batch,
                      target == -1 ? "the model ends there" : "the next stage is on the same rank");
    }
    if (target == -1) {
      return std::nullopt;
    }
    const std::size_t received = index_.position(direction_.receive, target, micro_batch);
    if (received != LoweredIndex::kNowhere) {
      return needless(target, received, direction_.receive, micro_batch, "the stage before is on the same rank");
    }
    return std::nullopt;
  }

  [[nodiscard]] TableFault needless(int stage, std::size_t position, LoweredType type, int micro_batch,
                                    const char* why) const {
    return fault(stage, position,
                 fmt::format("Rank {} issues {}, which has no other end: {}.", rank_of(stage),
                             cell(type, stage, micro_batch), why));
  }

  const ScheduleTable& table_;
  const LoweredIndex& index_;
  const Direction& direction_;
  int micro_batches_;
};

const Direction* receive_direction(LoweredType type) {
  return type == LoweredType::kReceiveForward    ? &kActivations
         : type == LoweredType::kReceiveBackward ? &kGradients
                                                 : nullptr;
}

/// The stage that sends what an action receives; -1 for other actions and where the model ends.
int source_of(const ScheduleTable& table, const LoweredAction& action) {
  const Direction* direction = receive_direction(action.type);
  if (direction == nullptr) {
    return -1;
  }
  const schedules::Stage& stage = table.stages[static_cast<std::size_t>(action.stage)];
  return direction->forward ? stage.previous : stage.next;
}

Place send_of(const ScheduleTable& table, const LoweredIndex& index, const LoweredAction& receive, int source) {
  return {table.stages[static_cast<std::size_t>(source)].rank,
          index.position(receive_direction(receive.type)->send, source, receive.micro_batch)};
}

/// A receive at an end of the model.
std::optional<TableFault> find_receive_from_nowhere(const ScheduleTable& table) {
  for (std::size_t rank = 0; rank < table.lowered.size(); ++rank) {
    for (std::size_t position = 0; position < table.lowered[rank].size(); ++position) {
      const LoweredAction& action = table.lowered[rank][position];
      if (receive_direction(action.type) != nullptr && source_of(table, action) == -1) {
        return TableFault{
            static_cast<int>(rank), position,
            fmt::format("Rank {} issues {}, which has no other end: the model ends there.", rank, to_string(action))};
      }
    }
  }
  return std::nullopt;
}

/// Messages between two ranks carry no name (NCCL has no tags): the order of the sends must be that of the receives.
std::optional<TableFault> find_overtaking(const ScheduleTable& table, const LoweredIndex& index) {
  for (std::size_t rank = 0; rank < table.lowered.size(); ++rank) {
    const std::vector<LoweredAction>& row = table.lowered[rank];
    std::map<int, std::pair<std::size_t, std::size_t>> last;  // by sender: positions of its send and of our receive
    for (std::size_t position = 0; position < row.size(); ++position) {
      const int source = source_of(table, row[position]);
      if (source == -1) {
        continue;
      }
      const Place send = send_of(table, index, row[position], source);
      const auto [entry, is_first] = last.try_emplace(send.rank, send.position, position);
      if (!is_first && send.position < entry->second.first) {
        return TableFault{
            static_cast<int>(rank), position,
            fmt::format("Rank {} issues {} after {}, but rank {} sends them the other way round; messages between two "
                        "ranks must be received in the order in which they are sent.",
                        rank, to_string(row[position]), to_string(row[entry->second.second]), send.rank)};
      }
      entry->second = {send.position, position};
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<TableFault> find_message_fault(const ScheduleTable& table, const LoweredIndex& index) {
  if (auto fault = find_receive_from_nowhere(table)) {
    return fault;
  }
  for (const Direction& direction : {kActivations, kGradients}) {
    if (auto fault = Messages(table, index, direction).find()) {
      return fault;
    }
  }
  return find_overtaking(table, index);
}

std::optional<TableFault> find_message_deadlock(const ScheduleTable& table, const LoweredIndex& index) {
  InOrderRows rows;
  for (const std::vector<LoweredAction>& row : table.lowered) {
    rows.lengths.push_back(row.size());
  }
  const auto at = [&table](const Place& place) -> const LoweredAction& {
    return table.lowered[static_cast<std::size_t>(place.rank)][place.position];
  };
  // What stays on a rank is in order already, since the compute actions are those of a table without a deadlock.
  rows.needs = [&](const Place& place, std::vector<Place>& needs) {
    if (const int source = source_of(table, at(place)); source != -1) {
      needs.push_back(send_of(table, index, at(place), source));
    }
  };
  rows.is_paired = [](const Place&) { return false; };
  const std::vector<Wait> cycle = find_cycle_of_waits(rows);
  if (cycle.empty()) {
    return std::nullopt;
  }
  const auto name = [&at](const Place& place) { return to_string(at(place)); };
  const Place& first = cycle.front().at;
  return TableFault{first.rank, first.position,
                    fmt::format("The rows deadlock when each receive waits for its message before the next action. {}",
                                describe_cycle(rows, cycle, name))};
}

}  // namespace lamina::schedule_tables
