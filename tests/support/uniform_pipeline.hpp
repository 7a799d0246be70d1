#pragma once

#include <string>

#include "sim/pipeline/simulate.hpp"
#include "sim/scenario/scenario.hpp"
#include "tests/support/random_scenario.hpp"

namespace lamina::tests {

/// The setting of the tables of pipeline schedules: a rank's whole share of the model takes a second per micro-batch
/// for the forward, the input gradient and the weight gradient each; messages and updates cost nothing. One rank per
/// device, everything fits.
[[nodiscard]] inline scenario::Scenario uniform_pipeline(int ranks, int micro_batches, int layers_per_rank) {
  scenario::Scenario scenario = small_scenario();
  scenario.cluster.nodes = ranks;
  scenario.strategy.pipeline_parallel = ranks;
  scenario.strategy.micro_batches = micro_batches;
  scenario.strategy.update = scenario::Update::kWithReduction;
  scenario.strategy.recompute = scenario::Recompute::kNone;
  scenario.model.layers = ranks * layers_per_rank;
  scenario.model.vocabulary = 0;
  scenario::CustomModel custom{};
  custom.forward = Seconds(1.0 / layers_per_rank);
  custom.input_gradient = Seconds(1.0 / layers_per_rank);
  custom.weight_gradient = Seconds(1.0 / layers_per_rank);
  custom.parameters = Bytes(1e6);
  custom.checkpoint = Bytes(1e6 / layers_per_rank);
  scenario.model.custom = custom;
  return scenario;
}

/// `name` with its usual parameters, which may be changed afterwards.
[[nodiscard]] inline scenario::PluginChoice usual_schedule(const pipeline::Catalogs& catalogs,
                                                           const std::string& name) {
  scenario::PluginChoice choice;
  choice.name = name;
  for (const catalog::ParameterSpec& spec : catalogs.schedules.find(name)->info.parameters) {
    if (spec.kind == catalog::ParameterKind::kChoice) {
      choice.parameters.set_choice(spec.name, spec.default_value);
    } else if (spec.kind == catalog::ParameterKind::kBoolean) {
      choice.parameters.set_number(spec.name, spec.default_value == "true" ? 1 : 0);
    } else {
      choice.parameters.set_number(spec.name, std::stod(spec.default_value));
    }
  }
  return choice;
}

}  // namespace lamina::tests
