#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "schedules/schedule.hpp"
#include "sim/schedule_tables/checker.hpp"

namespace lamina::schedule_tables {

/// An action: a rank and a position in its row.
struct Place {
  int rank = 0;
  std::size_t position = 0;
  bool operator==(const Place&) const = default;
};

/// What the run needs to know of a table.
struct InOrderRows {
  std::vector<std::size_t> lengths;  ///< of the rows, by rank

  /// Appends the actions that must be done before the one at a place, beside those before it in its row. Where the
  /// action is the first of a pair: those of both halves.
  std::function<void(const Place&, std::vector<Place>&)> needs;
  std::function<bool(const Place&)> is_paired;  ///< with the action behind it
};

/// A rank that cannot go on.
struct Wait {
  Place at;
  Place for_action;  ///< on a rank that cannot go on either, maybe the same
};

/// Executes each row in order as far as it comes.
/// @return the cycle of ranks that wait for each other, each for the next one and the last for the first, from its
/// lowest rank on; empty if all rows end
[[nodiscard]] std::vector<Wait> find_cycle_of_waits(const InOrderRows& rows);

/// "Rank 0 is at 4F0 and waits for 3F0 of rank 3, which is at 3F2 and waits for 2F2 of rank 2, which ..."
/// @param name text of the action at a place
[[nodiscard]] std::string describe_cycle(const InOrderRows& rows, const std::vector<Wait>& cycle,
                                         const std::function<std::string(const Place&)>& name);

}  // namespace lamina::schedule_tables
