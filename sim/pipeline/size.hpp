#pragma once

#include <tl/expected.hpp>

#include "schedules/schedule.hpp"
#include "sim/error/error.hpp"
#include "sim/model/work.hpp"
#include "sim/scenario/scenario.hpp"

/// How large a scenario gets, known before it is built: a careless number of micro-batches must end in a sentence, not
/// in an hour of paging.
namespace lamina::pipeline {

/// Operations of one replica, and activities of a replay. An operation takes about 170 bytes and 3 us, so that this
/// many are minutes and a few GB.
inline constexpr double kLargestSize = 50e6;

struct Size {
  double operations = 0;  ///< of one replica, over all pipeline ranks
  double activities = 0;  ///< of the replay: every rank, and every message of a collective, unless folded
};

/// Operations that every schedule needs: a forward and a backward per layer and micro-batch. Needs no table, which may
/// itself be too large.
[[nodiscard]] double least_operations(const scenario::Scenario& scenario);

/// Operations by the rules of docs/model.md, section 4, within a few percent: computations and exchanges of the tensor
/// group, messages, host copies, restores and reductions. Updates are left out.
[[nodiscard]] Size estimate_size(const scenario::Scenario& scenario, const model::WorkModel& work,
                                 const schedules::ScheduleTable& table);

/// @return Infeasible when a size exceeds `kLargestSize`, with the number and what to reduce
[[nodiscard]] tl::expected<void, error::Infeasible> check_least_size(const scenario::Scenario& scenario);
[[nodiscard]] tl::expected<void, error::Infeasible> check_size(const scenario::Scenario& scenario, const Size& size);

}  // namespace lamina::pipeline
