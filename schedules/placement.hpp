#pragma once

#include <tl/expected.hpp>

#include "schedules/schedule.hpp"

/// What several schedules share: the layers of a chunk as a parameter, and the V placement.
namespace lamina::schedules {

/// The parameter `layers_per_chunk` of every looping schedule.
[[nodiscard]] catalog::ParameterSpec layers_per_chunk_parameter();

/// Table of a looping schedule with chunks of `layers_per_chunk` layers and no actions yet.
/// @return Infeasible when the layers do not divide evenly over the ranks in such chunks
[[nodiscard]] tl::expected<ScheduleTable, error::Infeasible> looping_table(const ScheduleRequest& request);

/// Two stages per rank, down and back up: stage s on rank s for s < p, on rank 2p - 1 - s beyond (Qi et al., arXiv
/// 2405.15362).
[[nodiscard]] std::vector<Stage> v_placement(int ranks);

/// Table with the stages of `v_placement` and no actions yet.
/// @return Infeasible when the layers do not divide evenly over 2 p chunks
[[nodiscard]] tl::expected<ScheduleTable, error::Infeasible> v_table(const ScheduleRequest& request);

/// Stages that each rank of a looping table holds.
[[nodiscard]] int chunks_per_rank(const ScheduleTable& table);

}  // namespace lamina::schedules
