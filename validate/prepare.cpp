#include "validate/prepare.hpp"

#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

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

tl::expected<Executable, error::Infeasible> make_executable(const scenario::Scenario& scenario,
                                                            const pipeline::Catalogs& catalogs,
                                                            scenario::CollectiveForm form) {
  auto prepared = pipeline::prepare(scenario, catalogs);
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
  Executable result{std::move(*prepared), {}, {}, {}};
  scenario::Scenario whole = scenario;
  whole.simulation.fold = false;
  whole.simulation.collective_form = form;
  result.deployment = pipeline::lay_out(whole, result.prepared.graph, result.prepared.fabric, catalogs).deployment;
  result.options.record_flows = false;
  result.options.transport = scenario.simulation.transport;
  result.options.communication_slowdown = scenario.simulation.communication_slowdown;
  replay::Options alone = result.options;
  alone.transport = scenario::Transport::kNoContention;
  result.order =
      issue_order(result.prepared.graph, due_dates(result.prepared.graph, result.prepared.deployment, alone));
  if (const std::string blocked = find_blocked(result.prepared.graph, result.order); !blocked.empty()) {
    throw error::InternalError(fmt::format("the order of execution blocks: {}", blocked));
  }
  return result;
}

}  // namespace lamina::validate
