#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "schedules/schedule.hpp"
#include "sim/deployment/deployment.hpp"
#include "sim/graph/operation_graph.hpp"
#include "sim/trace/job.hpp"

namespace lamina::trace {

/// Sends and receives of one pipeline rank in one step that a program can name.
inline constexpr std::size_t kMostMessages = 65000;

/// How messages are issued; as the scenario key `point_to_point` (docs/model.md).
enum class PointToPoint {
  kFusedRendezvous,  ///< what lies between two passes of a rank is one batch that both sides wait for (Megatron-LM)
  kSeparateStreams,  ///< a message waits for the pass that made it, and for the one before it to the same rank
};

/// One pipeline: an order, and the time of everything in it. Both outlive the layout.
struct Lane {
  const schedules::ScheduleTable* table = nullptr;
  const Times* times = nullptr;
};

/// Pipelines side by side, one program per lane and pipeline rank: lane l's rank r is program l p + r. A message has a
/// channel of its own, over a path without links whose latency is its transfer time.
struct LaidOut {
  graph::OperationGraph graph;
  deployment::Deployment deployment;
  std::vector<std::vector<std::uint32_t>> passes;  ///< [program][position in the table's row] operation
};

/// Every table has as many ranks as `pipeline_ranks`.
/// @throws InternalError when a rank has more than kMostMessages messages
[[nodiscard]] LaidOut lay_out(const std::vector<Lane>& lanes, int pipeline_ranks, PointToPoint messages);

}  // namespace lamina::trace
