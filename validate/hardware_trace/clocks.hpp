#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "validate/hardware_trace/instances.hpp"
#include "validate/hardware_trace/trace.hpp"

/// One clock for all ranks, and what a communication kernel waited before it transferred.
namespace lamina::validate::hardware_trace {

/// A rank's clock against that of the first trace.
struct ClockOffset {
  std::int64_t offset_ns = 0;  ///< its clock is ahead by so much
  std::int64_t bound_ns = -1;  ///< the estimate is off by less; -1: nothing joins the two
  bool corrected = false;      ///< the offset exceeds its bound, and was taken off
};

/// Offsets of all traces to the first one, along the joints that are known best.
///
/// Of a pair of ranks with messages both ways: d_ab is the receive's end on b's clock less the send's start on a's, and
/// the offset (min d_ab - min d_ba) / 2, off by less than half of their sum. Of two members of collectives: the median
/// difference of their ends, which come at one time; the bound is the median distance to that median.
[[nodiscard]] std::vector<ClockOffset> estimate_offsets(const std::vector<RankTrace>& traces, const Matched& matched);

/// Takes offsets that exceed their bounds off all dates, and marks them as corrected.
void align(std::vector<RankTrace>& traces, std::vector<ClockOffset>& offsets);

/// Waiting and transfer of the matched communication of one kind and group.
struct WaitingRow {
  std::string name;
  std::string group;
  std::int64_t instances = 0;
  std::int64_t complete = 0;  ///< of them: recorded by every member; of the others the waiting is at least this
  double transfer_s = 0;      ///< median of an instance: common end less the latest start
  double waiting_s = 0;       ///< mean over parts: latest start less the own start
  double most_waiting_s = 0;
};

[[nodiscard]] std::vector<WaitingRow> waiting_rows(const std::vector<RankTrace>& traces, const Matched& matched);

/// [part of `instance`] start of the transfer, common end: nanoseconds.
struct Transfer {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
};

[[nodiscard]] Transfer transfer_of(const std::vector<RankTrace>& traces, const Instance& instance);

}  // namespace lamina::validate::hardware_trace
