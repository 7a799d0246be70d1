#pragma once

#include <optional>

#include "sim/pipeline/coarse.hpp"
#include "sim/pipeline/simulate.hpp"
#include "sim/sweep/grid.hpp"
#include "sim/sweep/row.hpp"

namespace lamina::sweep {

/// What a sweep needs to evaluate a point. Refers to its parts.
struct Bench {
  const scenario::Loader& loader;
  const pipeline::Catalogs& catalogs;
  const Grid& grid;
};

/// Loads, replays and measures one point; `transport` overrides the scenario's. Faults of the values become rows; so do
/// faults of Lamina itself (kFailed). SimGrid replays in this process, so a process evaluates one point, and may die.
[[nodiscard]] Row evaluate(const Bench& bench, std::int64_t point, std::optional<scenario::Transport> transport);

/// The same by an estimate without contention, much faster: figures that is_estimated() denies are NaN.
[[nodiscard]] Row estimate(const Bench& bench, std::int64_t point, pipeline::CoarseSearch& search);

[[nodiscard]] std::string_view word_for(scenario::Transport transport);  ///< "simgrid"

/// Finds out whether the file itself is at fault: some point of the grid, or the file without the sweep, must load.
/// Looks at a thousand points at most.
/// @throws ScenarioError, the fault of the file
void check_file(const Bench& bench);

}  // namespace lamina::sweep
