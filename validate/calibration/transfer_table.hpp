#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "validate/calibration/transfers.hpp"

namespace lamina::validate::calibration {

/// Whether the first line that is no comment is a list of column names.
[[nodiscard]] bool is_table(std::string_view text);

/// The comment lines (#) before a table, without their signs.
[[nodiscard]] std::string comments_of(std::string_view text);

/// A CSV table of measured collectives; the form is told by its columns:
///
/// | columns (others are passed over) | from |
/// | --- | --- |
/// | size_bytes, and oop_time_us or time_us; ip_time_us or time2_us; gpus or ranks; nodes; collective | nccl-tests,
/// vTrain | | device, opcode, num_groups, group_size, tensor_bytes, time_us | OpenXLA | | set, size_bytes, busbw_GBps |
/// sweeps by name; "8gpu" and "2node" in a name count; without size a rate | | file, busbw_Gbps_median, data_GB | one
/// size, Gbit/s; "n4" in a name is 4 nodes | | topo, dispatch_GBps, combine_GBps | rates of all-to-alls; "EP 8 x 2" is
/// 2 nodes of 8 | | comm_type, group, group_size, msg_bytes, median_ms | aggregated training logs |
///
/// What no column says is taken from the comments ("collective=all_reduce ranks=8 nodes=1", "single host",
/// "intra-node").
/// @param collective where neither columns nor comments name one
/// @throws ScenarioError: another header, a row with more or fewer fields, a field that is no number, or not positive
[[nodiscard]] std::vector<TransferSet> read_transfer_table(std::string_view text, const std::string& file,
                                                           std::optional<Collective> collective);

}  // namespace lamina::validate::calibration
