#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <vector>

#include "schedules/schedule.hpp"
#include "sim/schedule_tables/checker.hpp"

namespace lamina::schedule_tables {

/// Where the actions with a micro-batch stand in the lowered rows.
class LoweredIndex {
 public:
  static constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

  /// The table must have passed `find_fault`.
  explicit LoweredIndex(const schedules::ScheduleTable& table);

  /// Enters all rows. @return an action of a stage that does not exist or is on another rank, out of range, or twice
  [[nodiscard]] std::optional<TableFault> fill();

  /// Position in the row of the stage's rank. B and I are one: the pass that makes the gradient to send.
  [[nodiscard]] std::size_t position(schedules::LoweredType type, int stage, int micro_batch) const;

 private:
  using LoweredType = schedules::LoweredType;

  [[nodiscard]] static std::size_t slot(LoweredType type);
  [[nodiscard]] std::size_t index(int stage, int micro_batch) const;
  [[nodiscard]] std::string enter(int rank, std::size_t position);

  const schedules::ScheduleTable& table_;
  int micro_batches_;
  std::array<std::vector<std::size_t>, 7> positions_;  ///< by slot, then stage and micro-batch
};

}  // namespace lamina::schedule_tables
