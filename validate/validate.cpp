#include "validate/validate.hpp"

#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "validate/compare.hpp"
#include "validate/execute.hpp"
#include "validate/issue_order.hpp"
#include "validate/virtual_backend.hpp"

namespace lamina::validate {
namespace {

/// [vertex] when it starts in a replay of one rank per program.
std::vector<double> due_dates(const graph::OperationGraph& graph, const deployment::Deployment& folded,
                              const replay::Options& options) {
  const timeline::Timeline timeline = replay::replay(graph, folded, options);
  std::vector<double> due(graph.size(), 0);
  for (std::size_t rank = folded.ranks.size(); rank-- > 0;) {  // the first rank of a program counts
    const std::uint32_t first = graph.first_vertex[static_cast<std::size_t>(folded.ranks[rank].program)];
    for (std::size_t i = 0; i < timeline.spans[rank].size(); ++i) {
      due[first + i] = timeline.spans[rank][i].start;
    }
  }
  return due;
}

}  // namespace

tl::expected<report::Validation, error::Infeasible> validate_virtual(const scenario::Scenario& scenario,
                                                                     const pipeline::Catalogs& catalogs, int repeats) {
  if (scenario.simulation.collective_form == scenario::CollectiveForm::kMessage) {
    return tl::unexpected(error::Infeasible{"Virtual devices run collectives in fluid form only."});
  }
  const auto prepared = pipeline::prepare(scenario, catalogs);
  if (!prepared) {
    return tl::unexpected(prepared.error());
  }
  const double operations = static_cast<double>(prepared->graph.size()) * prepared->whole_ranks /
                            static_cast<double>(scenario.strategy.pipeline_parallel);
  if (operations > kMostOperations) {
    return tl::unexpected(error::Infeasible{
        fmt::format("{} ranks with {:.3g} operations in all; at most {:.3g} are executed. Use fewer replicas.",
                    scenario.strategy.ranks(), operations, kMostOperations)});
  }
  scenario::Scenario whole_scenario = scenario;
  whole_scenario.simulation.fold = false;
  const pipeline::Layout whole = pipeline::lay_out(whole_scenario, prepared->graph, prepared->fabric, catalogs);
  replay::Options options;
  options.record_flows = false;
  options.transport = scenario.simulation.transport;
  options.communication_slowdown = scenario.simulation.communication_slowdown;
  replay::Options alone = options;
  alone.transport = scenario::Transport::kNoContention;
  const IssueOrder order = issue_order(prepared->graph, due_dates(prepared->graph, prepared->deployment, alone));
  if (const std::string blocked = find_blocked(prepared->graph, order); !blocked.empty()) {
    throw error::InternalError(fmt::format("the order of execution blocks: {}", blocked));
  }
  const std::unique_ptr<Backend> backend = make_virtual_backend(prepared->graph, whole.deployment);
  std::vector<Execution> executions;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    executions.push_back(execute(prepared->graph, whole.deployment, order, *backend));
  }
  report::Validation result = compare(prepared->graph, whole.deployment, executions, options);
  result.name = scenario.name;
  result.backend = "virtual";
  constexpr double kEqual = 1e-6;
  if (std::abs(result.error()) > kEqual) {
    result.warnings.emplace_back(
        scenario.simulation.communication_slowdown > 0
            ? "Virtual devices know neither contention nor communication_slowdown; the replay does."
            : "Virtual devices know no contention, the replay does: transfers of this layout meet on links.");
  }
  return result;
}

}  // namespace lamina::validate
