#include "sim/pipeline/simulate.hpp"

#include <utility>

#include "sim/deployment/whole.hpp"
#include "sim/disturb/disturb.hpp"
#include "sim/lowering/lower.hpp"
#include "sim/metrics/reference.hpp"
#include "sim/metrics/summarise.hpp"
#include "sim/pipeline/chosen.hpp"
#include "sim/pipeline/repeats.hpp"
#include "sim/pipeline/schedule_table.hpp"
#include "sim/pipeline/size.hpp"
#include "sim/replay/replay.hpp"
#include "sim/symmetry/fold.hpp"

namespace lamina::pipeline {

Catalogs builtin_catalogs() {
  return {schedules::builtin_schedules(), topologies::builtin_topologies(), model::cost_models(),
          collectives::builtin_collectives()};
}

scenario::Plugins plugins_of(const Catalogs& catalogs) {
  return {catalogs.schedules.infos(), catalogs.topologies.infos(), catalogs.cost_models.infos(),
          catalogs.collectives.infos()};
}

Layout lay_out(const scenario::Scenario& scenario, const graph::OperationGraph& graph, const fabric::Fabric& fabric,
               const Catalogs& catalogs) {
  const scenario::CollectiveForm form = scenario.simulation.collective_form;
  deployment::Whole whole = deployment::deploy_whole(
      graph, scenario.strategy, fabric, chosen(catalogs.collectives, scenario.simulation.collective_algorithm), form);
  Layout layout;
  layout.whole_ranks = whole.total_ranks;
  if (!scenario.disturbances.empty()) {
    whole = disturb::change_deployment(std::move(whole), fabric, scenario);
    layout.without_effect = disturb::without_effect(whole, fabric, scenario);
  }
  // Collectives in message form need every member.
  if (scenario.simulation.fold && form == scenario::CollectiveForm::kFluid) {
    symmetry::Folding folding = symmetry::fold(whole);
    layout.deployment = std::move(folding.folded);
    layout.split_reasons = std::move(folding.reasons);
  } else {
    layout.deployment = deployment::expand(whole);
  }
  return layout;
}

tl::expected<Prepared, error::Infeasible> prepare(const scenario::Scenario& scenario, const Catalogs& catalogs) {
  metrics::check_reference(scenario);
  if (auto fits = check_least_size(scenario); !fits) {
    return tl::unexpected(std::move(fits.error()));
  }
  Prepared prepared;
  prepared.work = model::work_model(scenario, catalogs.cost_models);
  auto table = schedule_table(scenario, catalogs, prepared.work);
  if (!table) {
    return tl::unexpected(std::move(table.error()));
  }
  prepared.table = std::move(*table);
  if (auto fits = check_size(scenario, estimate_size(scenario, prepared.work, prepared.table)); !fits) {
    return tl::unexpected(std::move(fits.error()));
  }
  if (auto fits = check_repeats(scenario, prepared.work, prepared.table); !fits) {
    return tl::unexpected(std::move(fits.error()));
  }
  auto fabric = chosen(catalogs.topologies, scenario.cluster.topology.name).build(scenario.cluster);
  if (!fabric) {
    return tl::unexpected(std::move(fabric.error()));
  }
  if (!scenario.disturbances.empty()) {
    fabric = disturb::change_fabric(std::move(*fabric), scenario);
    if (!fabric) {
      return tl::unexpected(std::move(fabric.error()));
    }
  }
  prepared.fabric = std::move(*fabric);
  auto graph = lowering::lower(scenario, prepared.work, prepared.table);
  if (!graph) {
    return tl::unexpected(std::move(graph.error()));
  }
  prepared.graph = std::move(*graph);
  Layout layout = lay_out(scenario, prepared.graph, prepared.fabric, catalogs);
  prepared.deployment = std::move(layout.deployment);
  prepared.whole_ranks = layout.whole_ranks;
  prepared.split_reasons = std::move(layout.split_reasons);
  prepared.without_effect = std::move(layout.without_effect);
  return prepared;
}

tl::expected<Result, error::Infeasible> simulate(const scenario::Scenario& scenario, const Catalogs& catalogs,
                                                 ReplayIn where) {
  auto prepared = prepare(scenario, catalogs);
  if (!prepared) {
    return tl::unexpected(std::move(prepared.error()));
  }
  Result result;
  result.prepared = std::move(*prepared);
  replay::Options options;
  options.communication_slowdown = scenario.simulation.communication_slowdown;
  options.transport = scenario.simulation.transport;
  const bool forks = where == ReplayIn::kChildProcess || scenario.disturbances.jitter;
  result.timeline = forks ? replay::replay(result.prepared.graph, result.prepared.deployment, options)
                          : replay::replay_in_process(result.prepared.graph, result.prepared.deployment, options);
  result.report = metrics::summarise(scenario, result.prepared.work, result.prepared.graph, result.prepared.deployment,
                                     result.prepared.fabric, result.timeline);
  result.report.disturbances = disturb::describe(scenario);
  result.report.warnings.insert(result.report.warnings.end(), result.prepared.without_effect.begin(),
                                result.prepared.without_effect.end());
  if (scenario.disturbances.jitter) {
    result.report.distribution = step_distribution(scenario, result.prepared, catalogs);
  }
  return result;
}

}  // namespace lamina::pipeline
