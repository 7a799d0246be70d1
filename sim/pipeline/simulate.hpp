#pragma once

#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "schedules/schedule.hpp"
#include "sim/collectives/collective.hpp"
#include "sim/deployment/deployment.hpp"
#include "sim/fabric/fabric.hpp"
#include "sim/graph/operation_graph.hpp"
#include "sim/model/work.hpp"
#include "sim/report/report.hpp"
#include "sim/scenario/load.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/timeline/timeline.hpp"
#include "topologies/topology.hpp"

/// The only library code that sees all parts: scenario in, report out.
namespace lamina::pipeline {

/// Every plug-in of this build.
struct Catalogs {
  catalog::Catalog<schedules::Schedule> schedules;
  catalog::Catalog<topologies::Topology> topologies;
  catalog::Catalog<model::CostModel> cost_models;
  catalog::Catalog<collectives::Collective> collectives;
};

[[nodiscard]] Catalogs builtin_catalogs();

/// For the scenario loader and documentation.
[[nodiscard]] scenario::Plugins plugins_of(const Catalogs& catalogs);

/// Everything a scenario resolves to before the replay.
struct Prepared {
  model::WorkModel work;
  schedules::ScheduleTable table;
  fabric::Fabric fabric;
  graph::OperationGraph graph;
  deployment::Deployment deployment;  ///< folded unless the scenario says otherwise
  double whole_ranks = 0;
  std::vector<std::string> split_reasons;   ///< why ranks of one program fell into several classes
  std::vector<std::string> without_effect;  ///< disturbances that touch nothing, a sentence each
};

[[nodiscard]] tl::expected<Prepared, error::Infeasible> prepare(const scenario::Scenario& scenario,
                                                                const Catalogs& catalogs);

/// A graph laid out on a fabric as the scenario says: folded unless it forbids that or its collectives are in message
/// form.
struct Layout {
  deployment::Deployment deployment;
  double whole_ranks = 0;
  std::vector<std::string> split_reasons;
  std::vector<std::string> without_effect;
};

[[nodiscard]] Layout lay_out(const scenario::Scenario& scenario, const graph::OperationGraph& graph,
                             const fabric::Fabric& fabric, const Catalogs& catalogs);

struct Result {
  report::Report report;
  Prepared prepared;
  timeline::Timeline timeline;
};

/// Where SimGrid replays. kThisProcess is for processes that simulate one scenario and end: SimGrid serves a process
/// once and may end it. Scenarios that are replayed several times (jitter) fork all the same.
enum class ReplayIn { kChildProcess, kThisProcess };

/// A layout that does not fit into memory is a Result with `report.fits == false`, not an Infeasible.
[[nodiscard]] tl::expected<Result, error::Infeasible> simulate(const scenario::Scenario& scenario,
                                                               const Catalogs& catalogs,
                                                               ReplayIn where = ReplayIn::kChildProcess);

}  // namespace lamina::pipeline
