#pragma once

#include <string>
#include <vector>

#include "sim/sweep/grid.hpp"
#include "sim/sweep/row.hpp"

namespace lamina::sweep {

/// The answer for a terminal, at most 100 columns where the values of the axes allow it: how many points run, the best
/// `most` of them by the figure `sort_by`, those of them that trade time for memory, and why the others do not run.
[[nodiscard]] std::string to_console(const Grid& grid, const std::vector<Row>& rows, std::size_t sort_by,
                                     std::size_t most);

}  // namespace lamina::sweep
