#include "sim/lowering/lower.hpp"

#include <utility>

#include <fmt/format.h>

#include "sim/lowering/messages.hpp"
#include "sim/lowering/partition.hpp"
#include "sim/lowering/role_lowering.hpp"

namespace lamina::lowering {

tl::expected<graph::OperationGraph, error::Infeasible> lower(const scenario::Scenario& scenario,
                                                             const model::WorkModel& work,
                                                             const schedules::ScheduleTable& table) {
  const int ranks = scenario.strategy.pipeline_parallel;
  if (static_cast<int>(table.actions.size()) != ranks) {
    throw error::InternalError(
        fmt::format("the schedule has {} rows for {} pipeline ranks", table.actions.size(), ranks));
  }
  if (auto dealt = check_partition(scenario, work, table); !dealt) {
    return tl::unexpected(std::move(dealt.error()));
  }
  const std::vector<MessageEdge> edges = message_edges(table);
  std::vector<graph::Program> programs;
  programs.reserve(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    programs.push_back(RoleLowering(scenario, work, table, edges, rank).lower());
  }
  graph::OperationGraph graph = graph::freeze(std::move(programs));
  const std::string deadlock = graph::find_deadlock(graph);
  if (!deadlock.empty()) {
    return tl::unexpected(
        error::Infeasible{fmt::format("schedule {} deadlocks: {}", scenario.strategy.schedule.name, deadlock)});
  }
  return graph;
}

}  // namespace lamina::lowering
