#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sim/graph/operation_graph.hpp"
#include "sim/timeline/timeline.hpp"
#include "sim/units/transfer_time.hpp"

namespace lamina::replay {

/// What the transfers of one program take, nobody else about.
struct ProgramTimes {
  std::vector<TransferTime> channels;  ///< by index of the program's channels; those of its receives are not read
  std::array<std::array<TransferTime, graph::kCollectiveKinds>, graph::kGroupKinds> collectives;  ///< group, collective
  std::array<bool, graph::kGroupKinds> joins{};  ///< takes part in the group of this kind; false: passes at once
  TransferTime to_host;
  TransferTime from_host;
};

struct LongestPath {
  std::vector<std::uint32_t> first;   ///< [program] of its operations in `spans`, and the total at the end
  std::vector<timeline::Span> spans;  ///< as in a timeline
  double end_s = 0;
  bool complete = true;  ///< false: the programs wait for each other in a circle, and the spans mean nothing
};

/// Dates of one rank per program when every operation takes its own time, whatever else happens: what a replay without
/// contention and without slowdown gives, without a clock, since the order of every stream is fixed. A message starts
/// when both ends are ready; the k-th pipeline or embedding collectives of the programs that join start together;
/// tensor and data groups are not waited for (their members are taken to be equal). Linear in operations and
/// dependencies.
/// @throws InternalError when a send has no receive
[[nodiscard]] LongestPath longest_path(const std::vector<graph::Program>& programs,
                                       const std::vector<ProgramTimes>& times);

}  // namespace lamina::replay
