#pragma once

#include <vector>

#include "schedules/schedule.hpp"

namespace lamina::lowering {

/// [i]: what a lowered row puts before its i-th compute action; the last entry: what stands at the end.
using CommunicationGaps = std::vector<std::vector<schedules::LoweredAction>>;

[[nodiscard]] CommunicationGaps communication_gaps(const std::vector<schedules::LoweredAction>& row);

/// What a lowered table prescribes beyond the order of compute.
struct PrescribedRows {
  schedules::LoweredRows messages;  ///< SEND and RECV are issued where they stand here; empty: by the rule of the mode
  schedules::LoweredRows sharding;  ///< UNSHARD, RESHARD and REDUCE_GRAD likewise; empty: by the buffers
};

}  // namespace lamina::lowering
