#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "validate/calibration/transfers.hpp"

namespace lamina::validate::calibration {

/// What nccl-tests and rccl-tests print (versions 2.0 to 2.19, and the columns of version 1): one set per collective
/// and system in the order of the text. A data line is
///
///     size count type [redop] [root] time algbw busbw error  [time algbw busbw error]  [date time]
///
/// and the fields are told apart by their number and kind, so that the text may begin anywhere. The "# Rank" lines give
/// ranks, nodes and GPU; the collective is the program named last before a line ("all_reduce_perf"). Tags of mpirun
/// ("[1,0]<stdout>:"), indentation, CRLF and lines of other programs between the rows are passed over.
///
/// @param collective of rows before which no program is named
/// @throws ScenarioError with file, line and column: no data row, a row cut short, a field that is no number, a time or
///   size that is not positive and finite, two programs' rows that cannot be told apart, a rank listed twice
[[nodiscard]] std::vector<TransferSet> read_nccl_log(std::string_view text, const std::string& file,
                                                     std::optional<Collective> collective);

}  // namespace lamina::validate::calibration
