#pragma once

#include <string>

#include <tl/expected.hpp>

#include "schedules/schedule.hpp"
#include "sim/error/error.hpp"
#include "sim/trace/job.hpp"

namespace lamina::trace {

/// The schedule that Megatron-LM runs: `one_forward_one_backward`, or `interleaved` when ranks hold several chunks.
[[nodiscard]] std::string usual_schedule(const Job& job);

/// Table of a registered schedule, with its parameters at their defaults, for a job of this size.
/// @return Infeasible when the schedule cannot serve it, places stages otherwise than the job did (stage s on rank
/// s mod p), or splits backwards, which a trace does not time apart
/// @throws InternalError when there is no such schedule
[[nodiscard]] tl::expected<schedules::ScheduleTable, error::Infeasible> table_for(
    const catalog::Catalog<schedules::Schedule>& schedules, const std::string& name, const Job& job, int micro_batches);

[[nodiscard]] Pass pass_of(const schedules::Action& action);

}  // namespace lamina::trace
