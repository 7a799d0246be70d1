#pragma once

#include <string>
#include <vector>

#include "sim/trace/events.hpp"
#include "sim/trace/job.hpp"

namespace lamina::trace {

/// What is known of a job beside its trace; 0: unknown.
struct Layout {
  int pipeline_ranks = 0;
  int replicas = 0;
  int chunks = 0;
};

/// Sorts events into steps and replicas and gives every message its pass: the k-th send (receive) of a direction on a
/// rank, by seq_id (by start if that does not tell them apart), belongs to the k-th pass of that direction that has
/// somebody to send to (receive from). Recorders of virtual stages also write sends and receives that never took place,
/// at the ends of the model and of the step; they are told by their number and left out. A replica without all its
/// passes and messages is skipped, with the reason.
/// @throws ScenarioError when the trace contradicts `stated` (which may name more replicas than were recorded)
[[nodiscard]] Job assemble(const std::vector<Event>& events, const std::string& file, const Layout& stated = {});

/// A job's metadata: lines "key: value"; pp_size, dp_size and vpp_size are read.
/// @throws ScenarioError naming the line
[[nodiscard]] Layout read_layout(const std::string& text, const std::string& file);

}  // namespace lamina::trace
