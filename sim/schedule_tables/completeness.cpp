#include <array>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include "sim/schedule_tables/action_index.hpp"
#include "sim/schedule_tables/checks.hpp"
#include "sim/schedule_tables/numbering.hpp"

namespace lamina::schedule_tables {
namespace {

using schedules::ActionType;
using schedules::ScheduleTable;

constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

std::string name_of(ActionType type, std::size_t stage, int micro_batch) {
  return to_string(schedules::Action{type, static_cast<int>(stage), micro_batch});
}

/// Checks of one stage; faults come with the stage's rank.
class StageCheck {
 public:
  StageCheck(const ScheduleTable& table, const ActionIndex& index, std::size_t stage)
      : stage_(stage),
        rank_(table.stages[stage].rank),
        micro_batches_(micro_batches_per_stage(table)),
        row_length_(table.actions[static_cast<std::size_t>(rank_)].size()),
        actions_(index.of_stage(stage)) {}

  [[nodiscard]] std::optional<TableFault> find_repeated() const {
    for (std::size_t i = 1; i < actions_.size(); ++i) {
      const IndexedAction& first = actions_[i - 1];
      const IndexedAction& again = actions_[i];
      if (first.micro_batch != again.micro_batch) {
        continue;
      }
      if (first.type == again.type) {
        return fault(again.position, fmt::format("Rank {} computes {} twice, as actions {} and {} of its row.", rank_,
                                                 name(again), first.position + 1, again.position + 1));
      }
      if (first.type == ActionType::kBackward && is_split(again.type)) {
        return fault(again.position, fmt::format("Rank {} computes {} and also {}, which is a part of it.", rank_,
                                                 name(first), name(again)));
      }
    }
    return std::nullopt;
  }

  [[nodiscard]] std::optional<TableFault> find_out_of_range() const {
    for (const IndexedAction& action : actions_) {
      if (action.micro_batch < 0 || action.micro_batch >= micro_batches_) {
        return fault(action.position, fmt::format("Rank {} computes {}, but stage {} has micro-batches 0 to {}.", rank_,
                                                  name(action), stage_, micro_batches_ - 1));
      }
    }
    return std::nullopt;
  }

  /// No number may be repeated or out of range any more.
  [[nodiscard]] std::optional<TableFault> find_missing() const {
    std::size_t next = 0;
    for (int micro_batch = 0; micro_batch < micro_batches_; ++micro_batch) {
      if (std::string text = missing_of(micro_batch, passes_of(micro_batch, next)); !text.empty()) {
        return fault(row_length_, std::move(text));
      }
    }
    return std::nullopt;
  }

  /// Nothing may be missing any more.
  [[nodiscard]] std::optional<TableFault> find_disordered() const {
    std::size_t next = 0;
    for (int micro_batch = 0; micro_batch < micro_batches_; ++micro_batch) {
      const Passes at = passes_of(micro_batch, next);
      const bool split = at[kInput] != kNowhere;
      const ActionType backward = split ? ActionType::kInputGradient : ActionType::kBackward;
      const std::size_t position = split ? at[kInput] : at[kWhole];
      if (position < at[kForward]) {
        return before(position, name_of(backward, stage_, micro_batch),
                      name_of(ActionType::kForward, stage_, micro_batch));
      }
      if (split && at[kWeight] < position) {
        return before(at[kWeight], name_of(ActionType::kWeightGradient, stage_, micro_batch),
                      name_of(backward, stage_, micro_batch));
      }
    }
    return std::nullopt;
  }

 private:
  static constexpr std::size_t kForward = static_cast<std::size_t>(ActionType::kForward);
  static constexpr std::size_t kWhole = static_cast<std::size_t>(ActionType::kBackward);
  static constexpr std::size_t kInput = static_cast<std::size_t>(ActionType::kInputGradient);
  static constexpr std::size_t kWeight = static_cast<std::size_t>(ActionType::kWeightGradient);
  using Passes = std::array<std::size_t, 4>;  ///< position by type, or kNowhere

  /// @param next the first action of the micro-batch; moved to that of the next one
  [[nodiscard]] Passes passes_of(int micro_batch, std::size_t& next) const {
    Passes at = {kNowhere, kNowhere, kNowhere, kNowhere};
    for (; next < actions_.size() && actions_[next].micro_batch == micro_batch; ++next) {
      at[static_cast<std::size_t>(actions_[next].type)] = actions_[next].position;
    }
    return at;
  }

  /// Empty when nothing is missing.
  [[nodiscard]] std::string missing_of(int micro_batch, const Passes& at) const {
    const auto cell = [&](ActionType type) { return name_of(type, stage_, micro_batch); };
    if (at[kForward] == kNowhere) {
      return fmt::format("Rank {} never computes {}.", rank_, cell(ActionType::kForward));
    }
    if (at[kWhole] != kNowhere || (at[kInput] != kNowhere && at[kWeight] != kNowhere)) {
      return "";
    }
    if (at[kInput] == kNowhere && at[kWeight] == kNowhere) {
      return fmt::format("Rank {} computes {} but never its backward: neither {} nor {} and {}.", rank_,
                         cell(ActionType::kForward), cell(ActionType::kBackward), cell(ActionType::kInputGradient),
                         cell(ActionType::kWeightGradient));
    }
    const bool no_weight = at[kWeight] == kNowhere;
    return fmt::format("Rank {} computes {} but never {}.", rank_,
                       cell(no_weight ? ActionType::kInputGradient : ActionType::kWeightGradient),
                       cell(no_weight ? ActionType::kWeightGradient : ActionType::kInputGradient));
  }

  [[nodiscard]] TableFault before(std::size_t position, const std::string& early, const std::string& late) const {
    return fault(position, fmt::format("Rank {} computes {} before {}, which it needs.", rank_, early, late));
  }

  [[nodiscard]] std::string name(const IndexedAction& action) const {
    return name_of(action.type, stage_, action.micro_batch);
  }

  [[nodiscard]] TableFault fault(std::size_t position, std::string text) const {
    return {rank_, position, std::move(text)};
  }

  std::size_t stage_;
  int rank_;
  int micro_batches_;
  std::size_t row_length_;
  std::span<const IndexedAction> actions_;
};

}  // namespace

std::optional<TableFault> find_completeness_fault(const ScheduleTable& table) {
  const ActionIndex index(table);
  const auto first = [&](std::optional<TableFault> (StageCheck::*find)() const) -> std::optional<TableFault> {
    for (std::size_t stage = 0; stage < table.stages.size(); ++stage) {
      if (auto fault = (StageCheck(table, index, stage).*find)()) {
        return fault;
      }
    }
    return std::nullopt;
  };
  if (auto fault = first(&StageCheck::find_repeated)) {
    return fault;
  }
  if (auto fault = find_numbering_fault(table, index)) {
    return fault;
  }
  for (const auto find : {&StageCheck::find_out_of_range, &StageCheck::find_missing, &StageCheck::find_disordered}) {
    if (auto fault = first(find)) {
      return fault;
    }
  }
  return std::nullopt;
}

}  // namespace lamina::schedule_tables
