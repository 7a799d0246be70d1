#include "sim/lowering/lower.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "sim/lowering/coarse.hpp"
#include "sim/lowering/communication_gaps.hpp"
#include "sim/lowering/messages.hpp"
#include "sim/lowering/partition.hpp"
#include "sim/lowering/role_lowering.hpp"
#include "sim/schedule_tables/lowered_table.hpp"

namespace lamina::lowering {
namespace {

using scenario::PointToPoint;
using schedules::LoweredType;

template <class Match>
bool contains(const schedules::LoweredRows& rows, Match match) {
  return std::any_of(rows.begin(), rows.end(), [&](const auto& row) {
    return std::any_of(row.begin(), row.end(), [&](const auto& action) { return match(action.type); });
  });
}

/// A table from a file may bring its own communication; otherwise PyTorch's rules place what the strategy asks for.
PrescribedRows prescribed_rows(const scenario::Strategy& strategy, const schedules::ScheduleTable& table) {
  const bool posts = strategy.point_to_point == PointToPoint::kEarlyPosted;
  const bool looks_ahead = strategy.sharding.residency == scenario::Residency::kLookAhead;
  const bool has_messages = contains(table.lowered, [](LoweredType type) {
    return type == LoweredType::kSendForward || type == LoweredType::kSendBackward;
  });
  const bool has_sharding = contains(table.lowered, [](LoweredType type) {
    return type == LoweredType::kUnshard || type == LoweredType::kReduceGradients;
  });
  PrescribedRows rows;
  if ((posts && !has_messages) || (looks_ahead && !has_sharding)) {
    rows.messages = schedule_tables::lowered_rows(table, strategy.sharding.look_ahead_stages);
    rows.sharding = rows.messages;
  }
  if (has_messages) {
    rows.messages = table.lowered;
  }
  if (has_sharding) {
    rows.sharding = table.lowered;
  }
  if (!posts) {
    rows.messages.clear();
  }
  if (!looks_ahead && !has_sharding) {
    rows.sharding.clear();
  }
  return rows;
}

const char* name_of(PointToPoint mode) {
  switch (mode) {
    case PointToPoint::kSeparateStreams:
      return "separate_streams";
    case PointToPoint::kEarlyPosted:
      return "early_posted";
    case PointToPoint::kFusedRendezvous:
      return "fused_rendezvous";
    case PointToPoint::kBlocking:
      return "blocking";
  }
  return "?";
}

error::Infeasible cannot_run(const scenario::Strategy& strategy, const std::string& why) {
  return {fmt::format("Schedule {} under point_to_point: {}: {}", strategy.schedule.name,
                      name_of(strategy.point_to_point), why)};
}

/// The programs that `lower_role` writes for each pipeline rank.
template <class LowerRole>
tl::expected<std::vector<graph::Program>, error::Infeasible> programs_of(const scenario::Scenario& scenario,
                                                                         const model::WorkModel& work,
                                                                         const schedules::ScheduleTable& table,
                                                                         LowerRole lower_role) {
  const scenario::Strategy& strategy = scenario.strategy;
  const int ranks = strategy.pipeline_parallel;
  if (static_cast<int>(table.actions.size()) != ranks) {
    throw error::InternalError(
        fmt::format("the schedule has {} rows for {} pipeline ranks", table.actions.size(), ranks));
  }
  if (auto dealt = check_partition(scenario, work, table); !dealt) {
    return tl::unexpected(std::move(dealt.error()));
  }
  const PrescribedRows rows = prescribed_rows(strategy, table);
  const std::vector<MessageEdge> edges = message_edges(table, rows.messages);
  if (strategy.point_to_point != PointToPoint::kSeparateStreams) {
    if (const std::string conflict = find_order_conflict(table, edges, rows.messages); !conflict.empty()) {
      return tl::unexpected(cannot_run(strategy, conflict));
    }
  }
  std::vector<graph::Program> programs;
  programs.reserve(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    RoleLowering role(scenario, work, table, edges, rows, rank);
    programs.push_back(lower_role(role, rank));
  }
  return programs;
}

}  // namespace

tl::expected<graph::OperationGraph, error::Infeasible> lower(const scenario::Scenario& scenario,
                                                             const model::WorkModel& work,
                                                             const schedules::ScheduleTable& table) {
  auto programs = programs_of(scenario, work, table, [](RoleLowering& role, int /*rank*/) { return role.lower(); });
  if (!programs) {
    return tl::unexpected(std::move(programs.error()));
  }
  graph::OperationGraph graph = graph::freeze(std::move(*programs));
  if (const std::string deadlock = graph::find_deadlock(graph); !deadlock.empty()) {
    return tl::unexpected(cannot_run(scenario.strategy, "a deadlock: " + deadlock));
  }
  return graph;
}

tl::expected<std::vector<graph::Program>, error::Infeasible> lower_coarse(
    const scenario::Scenario& scenario, const model::WorkModel& work, const schedules::ScheduleTable& table,
    const std::vector<TensorTimes>& tensor_times) {
  return programs_of(scenario, work, table, [&](RoleLowering& role, int rank) {
    return role.lower_coarse(tensor_times.at(static_cast<std::size_t>(rank)));
  });
}

}  // namespace lamina::lowering
