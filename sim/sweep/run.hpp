#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "sim/sweep/evaluate.hpp"
#include "sim/sweep/journal.hpp"
#include "sim/sweep/row.hpp"

namespace lamina::sweep {

struct RunOptions {
  int workers = 1;
  /// > 0: all points without contention first, then this many of the best with SimGrid.
  std::int64_t refine = 0;
  std::size_t sort_by = 0;  ///< index into figures(): what "best" means
};

struct Progress {
  std::int64_t done = 0;     ///< evaluations, of both passes
  std::int64_t resumed = 0;  ///< of these, read from the journal
  std::int64_t total = 0;
  std::optional<double> best;  ///< of the figure that sort_by names, among rows that are ok
};

/// Evaluates all points and returns one row each, in their order; with `refine`, the rows of the second pass take the
/// place of those of the first. The rows do not depend on the number of workers, nor on what the journal held already.
/// @param journal rows go there as they come; nullptr: nowhere
/// @param lines what the journal held; failed rows among them are tried again
/// @param on_progress after each row, and every quarter of a second
[[nodiscard]] std::vector<Row> run(const Bench& bench, const RunOptions& options, Journal* journal,
                                   const std::vector<std::string>& lines,
                                   const std::function<void(const Progress&)>& on_progress);

/// Points of the rows that are ok, best first; equal ones by their number.
[[nodiscard]] std::vector<std::int64_t> ranked(const std::vector<Row>& rows, std::size_t sort_by);

/// The table. Rows end in "\n".
[[nodiscard]] std::string to_csv(const Grid& grid, const std::vector<Row>& rows);
[[nodiscard]] std::string to_json_lines(const Grid& grid, const std::vector<Row>& rows);

}  // namespace lamina::sweep
