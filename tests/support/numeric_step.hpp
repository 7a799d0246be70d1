#pragma once

#include <optional>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "sim/error/error.hpp"
#include "sim/graph/operation_graph.hpp"
#include "sim/pipeline/simulate.hpp"
#include "sim/scenario/scenario.hpp"
#include "validate/numeric/numeric_backend.hpp"
#include "validate/numeric/reference.hpp"

namespace lamina::tests {

/// A decoder of `layers` layers, 8 wide, two heads, sequences of 4 tokens out of 12; parallel sizes are 1.
[[nodiscard]] scenario::Scenario tiny_decoder(int layers);

/// A scenario's graph on the whole cluster.
[[nodiscard]] tl::expected<pipeline::Prepared, error::Infeasible> prepare_whole(scenario::Scenario scenario);

/// The step of the graph. Without `seed` in the order that launches by number, else in one of random dates.
/// @throws InternalError when the graph's order does not carry the data
[[nodiscard]] validate::numeric::Step compute_step(const scenario::Scenario& scenario,
                                                   const pipeline::Prepared& prepared,
                                                   std::optional<unsigned> seed = {});

[[nodiscard]] validate::numeric::ReferenceStep reference_of(const scenario::Scenario& scenario,
                                                            const pipeline::Prepared& prepared);

/// "" when loss, gradients, weights (and norm, where it is summed) agree to 1e-5; otherwise what does not.
[[nodiscard]] std::string find_difference(const scenario::Scenario& scenario, const validate::numeric::Step& step,
                                          const validate::numeric::ReferenceStep& reference);

}  // namespace lamina::tests
