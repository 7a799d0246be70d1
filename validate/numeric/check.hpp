#pragma once

#include <vector>

#include <tl/expected.hpp>

#include "sim/error/error.hpp"
#include "sim/pipeline/simulate.hpp"
#include "sim/report/step_check.hpp"
#include "sim/scenario/scenario.hpp"
#include "validate/cpu/wires.hpp"
#include "validate/numeric/reference.hpp"

namespace lamina::validate::numeric {

/// Whether head and embedding of a tied model are on different ranks, so that the head has a copy of the matrix; true
/// for a model that is not tied.
[[nodiscard]] bool has_own_matrix(const scenario::Scenario& scenario, const schedules::ScheduleTable& table);

/// Largest difference over a layer's values, relative to its largest value; infinite where a number is missing.
[[nodiscard]] double largest_error(const std::vector<std::vector<float>>& computed, const LayerValues& expected);

/// The same strategy on a decoder as small as its tensor-parallel ranks allow: as many layers and micro-batches, at
/// most two replicas, sequences of a few tokens, one sequence a micro-batch; without disturbances.
[[nodiscard]] scenario::Scenario tiny(const scenario::Scenario& scenario);

/// Computes the step of tiny(scenario) in the order of the operations' numbers and in `random_orders` other linear
/// extensions of the graph (seeds 1, 2, ...), and holds each against one device in double precision.
/// @return Infeasible as pipeline::prepare; for more than 256 ranks with two replicas, more than 256 layers, and
/// schedules that hold two copies of the model
[[nodiscard]] tl::expected<report::StepCheck, error::Infeasible> check(const scenario::Scenario& scenario,
                                                                       const pipeline::Catalogs& catalogs,
                                                                       int random_orders);

/// The same with a process per rank: `executions` of tiny(scenario) over `wires`, with rings for all collectives.
/// @return Infeasible as above, and as steps_on_ranks
/// @throws EnvironmentError as steps_on_ranks
[[nodiscard]] tl::expected<report::StepCheck, error::Infeasible> check_on_ranks(const scenario::Scenario& scenario,
                                                                                const pipeline::Catalogs& catalogs,
                                                                                int executions, cpu::Wires wires);

}  // namespace lamina::validate::numeric
