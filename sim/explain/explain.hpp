#pragma once

#include <string>

#include "sim/pipeline/simulate.hpp"
#include "sim/scenario/scenario.hpp"

/// What a scenario resolves to, number by number: the text of `lamina explain`.
namespace lamina::explain {

/// One section per part of the simulation (model, work per layer, layout, network, data-parallel traffic, schedule,
/// memory, folding). Each line holds one derived number: name, value with unit, formula with the numbers put in,
/// source. Nothing is replayed: closed forms assume an idle network.
[[nodiscard]] std::string explain(const scenario::Scenario& scenario, const pipeline::Prepared& prepared,
                                  const pipeline::Catalogs& catalogs);

}  // namespace lamina::explain
