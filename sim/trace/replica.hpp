#pragma once

#include <array>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "sim/trace/events.hpp"
#include "sim/trace/job.hpp"

namespace lamina::trace {

/// Events of one rank in one step, by kind.
using RankEvents = std::array<std::vector<Event>, kEventKinds>;

/// @param ranks [pipeline rank] of one replica in one step
/// @return the replica (its number is left to the caller), or what it lacks
[[nodiscard]] tl::expected<MeasuredReplica, std::string> assemble_replica(std::vector<RankEvents> ranks, int chunks);

}  // namespace lamina::trace
