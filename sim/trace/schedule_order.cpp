#include "sim/trace/schedule_order.hpp"

#include <cstdlib>
#include <vector>

#include <fmt/format.h>

#include "sim/trace/layout.hpp"

namespace lamina::trace {
namespace {

catalog::Parameters defaults_of(const catalog::PluginInfo& info) {
  catalog::Parameters parameters;
  for (const catalog::ParameterSpec& spec : info.parameters) {
    if (spec.kind == catalog::ParameterKind::kChoice) {
      parameters.set_choice(spec.name, spec.default_value);
    } else if (spec.kind == catalog::ParameterKind::kBoolean) {
      parameters.set_number(spec.name, spec.default_value == "true" ? 1 : 0);
    } else {
      parameters.set_number(spec.name, std::strtod(spec.default_value.c_str(), nullptr));
    }
  }
  return parameters;
}

/// Why the table cannot order the job's passes; empty if it can.
std::string mismatch(const schedules::ScheduleTable& table, const Job& job) {
  if (static_cast<int>(table.stages.size()) != job.stages()) {
    return fmt::format("has {} stages, the job {}", table.stages.size(), job.stages());
  }
  for (int stage = 0; stage < job.stages(); ++stage) {
    const schedules::Stage& placed = table.stages[static_cast<std::size_t>(stage)];
    const int next = stage + 1 < job.stages() ? stage + 1 : -1;
    if (placed.rank != stage % job.pipeline_ranks || placed.previous != stage - 1 || placed.next != next) {
      return fmt::format("has stage {} on rank {}, the job on rank {}", stage, placed.rank, stage % job.pipeline_ranks);
    }
  }
  for (const std::vector<schedules::Action>& row : table.actions) {
    for (const schedules::Action& action : row) {
      if (action.type != schedules::ActionType::kForward && action.type != schedules::ActionType::kBackward) {
        return "splits backwards into input and weight gradient, which a trace does not time apart";
      }
    }
  }
  return "";
}

}  // namespace

std::string usual_schedule(const Job& job) {
  return job.chunks > 1 ? "interleaved" : "one_forward_one_backward";
}

tl::expected<schedules::ScheduleTable, error::Infeasible> table_for(
    const catalog::Catalog<schedules::Schedule>& schedules, const std::string& name, const Job& job,
    int micro_batches) {
  const auto* entry = schedules.find(name);
  if (entry == nullptr) {
    throw error::InternalError(fmt::format("there is no schedule {}", name));
  }
  constexpr std::size_t kMessagesPerMicroBatch = 4;  // each direction comes and goes
  if (kMessagesPerMicroBatch * static_cast<std::size_t>(job.chunks) * static_cast<std::size_t>(micro_batches) >
      kMostMessages) {
    return tl::unexpected(
        error::Infeasible{fmt::format("{} micro-batches in {} chunks per rank are more messages than "
                                      "the {} of a step that can be replayed.",
                                      micro_batches, job.chunks, kMostMessages)});
  }
  const schedules::ScheduleRequest request{.pipeline_parallel = job.pipeline_ranks,
                                           .micro_batches = micro_batches,
                                           .layers = job.stages(),
                                           .parameters = defaults_of(entry->info),
                                           .times = {}};
  auto table = entry->implementation->table(request);
  if (!table) {
    return table;
  }
  if (const std::string problem = mismatch(*table, job); !problem.empty()) {
    return tl::unexpected(error::Infeasible{fmt::format("The schedule {} {}.", name, problem)});
  }
  return table;
}

Pass pass_of(const schedules::Action& action) {
  return {action.type == schedules::ActionType::kBackward, action.stage, action.micro_batch};
}

}  // namespace lamina::trace
