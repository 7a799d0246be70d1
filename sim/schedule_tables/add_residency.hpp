#pragma once

#include <cstddef>
#include <set>
#include <utility>
#include <vector>

#include "schedules/schedule.hpp"

namespace lamina::schedule_tables {

/// First pass of `lowered_rows`: UNSHARD and RESHARD around the stages that a rank uses next. One object serves all
/// ranks of a table, one after the other. O(log stages of the rank) per action.
class ResidencyPass {
 public:
  /// @param stages of the table
  /// @param limit distinct stages, in order of use, that are kept or fetched; at least 1. A pair counts whole, so that
  ///   one more is resident when the last of them is the first half of a pair of two stages.
  ResidencyPass(std::size_t stages, std::size_t limit);

  /// The rank's actions with UNSHARD and RESHARD between them.
  [[nodiscard]] std::vector<schedules::LoweredAction> row(const std::vector<schedules::Action>& actions);

 private:
  using Use = std::pair<std::size_t, int>;  ///< position in the row, stage

  void start(const std::vector<schedules::Action>& actions);
  void rebalance(const std::vector<schedules::Action>& actions);
  void shrink(const std::vector<schedules::Action>& actions);
  void write_changes(std::vector<schedules::LoweredAction>& row);
  void use(int stage, std::size_t position);

  std::size_t limit_;
  std::vector<std::size_t> next_use_;   ///< by stage
  std::vector<bool> in_row_;            ///< by stage: resident according to what is written
  std::vector<std::size_t> following_;  ///< by position: of the stage's next action
  std::set<Use> resident_;
  std::set<Use> waiting_;
  std::vector<int> touched_;  ///< stages that entered or left `resident_` since the last action
};

}  // namespace lamina::schedule_tables
