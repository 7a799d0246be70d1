#pragma once

#include <array>
#include <vector>

#include "schedules/schedule.hpp"

namespace lamina::schedules {

/// Time slots of a micro-batch's passes on one rank, in the order in which it makes them: forward of chunk 0, forward
/// of chunk 1, input gradient of chunk 1, input gradient of chunk 0. A slot is one pass of one chunk; the next
/// micro-batch runs 6 slots later, so that the weight gradients find two free slots each.
using BuildingBlock = std::array<int, 4>;

/// Fills the rows of a V table: repeats the building blocks (by rank) for every micro-batch, then moves passes of the
/// ramp up and down to earlier free slots as long as no rank holds more activations than the repeated block does.
/// Greedy, in unit times; the order is what counts. Source: Qi et al., Pipeline Parallelism with Controllable Memory,
/// arXiv 2405.15362; the order of the greedy moves is that of its public code.
void write_from_building_blocks(const std::vector<BuildingBlock>& blocks, ScheduleTable& table);

}  // namespace lamina::schedules
