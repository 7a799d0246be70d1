#include "sim/metrics/summarise.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "sim/metrics/activity_counts.hpp"
#include "sim/metrics/critical_path.hpp"
#include "sim/metrics/links.hpp"
#include "sim/metrics/memory.hpp"
#include "sim/metrics/reference.hpp"
#include "sim/metrics/role_times.hpp"
#include "sim/metrics/step.hpp"
#include "sim/metrics/training.hpp"

namespace lamina::metrics {

using report::Report;
using report::Role;

namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

double ratio(double value, double by) {
  return by > 0 ? value / by : kUnknown;
}

double flops_of(const graph::Program& program) {
  return std::accumulate(program.operations.begin(), program.operations.end(), 0.0,
                         [](double sum, const graph::Operation& operation) { return sum + operation.flops; });
}

/// The class that computes longest speaks for its role; among equals the one that ends last.
bool is_slower(const report::RoleTimes& candidate, const report::RoleTimes& best, double slack) {
  if (std::abs(candidate.compute_s - best.compute_s) > slack) {
    return candidate.compute_s > best.compute_s;
  }
  return candidate.tail_s < best.tail_s - slack;
}

void add_counts(Role& role, const graph::Program& program) {
  role.flops = flops_of(program);
  const ActivityCounts counts = counts_of(program);
  role.messages = counts.messages;
  role.message_bytes = counts.message_bytes;
  role.restores = counts.restores;
  role.restored_bytes = counts.restored_bytes;
  role.reductions = counts.reductions;
}

std::vector<Role> roles(const Step& step, const StepTimes& times, int layers) {
  const std::vector<report::Memory> memory = memory_of_ranks(step, layers);
  const std::vector<double> activations = peak_activations(step, layers);
  std::vector<Role> result(step.graph().programs.size());
  for (std::size_t program = 0; program < result.size(); ++program) {
    result[program].pipeline_rank = static_cast<int>(program);
    add_counts(result[program], step.graph().programs[program]);
  }
  for (std::size_t rank = 0; rank < step.ranks(); ++rank) {
    Role& role = result[static_cast<std::size_t>(step.deployment().ranks[rank].program)];
    const bool first = role.ranks == 0;
    role.ranks += step.deployment().ranks[rank].multiplicity;
    if (first || is_slower(times.ranks[rank], role.times, step.slack())) {
      role.times = times.ranks[rank];
    }
    if (first || memory[rank].peak_bytes > role.memory.peak_bytes * (1 + 1e-12)) {
      role.memory = memory[rank];
    }
    role.peak_activations = std::max(role.peak_activations, activations[rank]);
  }
  return result;
}

/// Pipeline rank of the first rank whose last operation ends the step.
int critical_role(const Step& step) {
  int result = std::numeric_limits<int>::max();
  for (std::size_t rank = 0; rank < step.ranks(); ++rank) {
    if (step.last_end(rank) >= step.time() - step.slack()) {
      result = std::min(result, step.deployment().ranks[rank].program);
    }
  }
  return result == std::numeric_limits<int>::max() ? 0 : result;
}

void add_choices(Report& report, const scenario::Scenario& scenario, const model::WorkModel& work,
                 const fabric::Fabric& fabric) {
  report.scenario = &scenario;
  report.cost_model = work.cost_model;
  report.schedule = scenario.strategy.schedule.name;
  report.topology = fabric.description;
  report.collectives = scenario.simulation.collective_algorithm;
  report.transport = scenario.simulation.transport == scenario::Transport::kSimgrid ? "SimGrid" : "no contention";
  report.cluster_devices = scenario.cluster.devices();
  // Collectives in message form need every member, so they are never folded.
  report.folded = scenario.simulation.fold && scenario.simulation.collective_form == scenario::CollectiveForm::kFluid;
}

void add_times(Report& report, const Step& step, const StepTimes& times) {
  report.step_s = step.time();
  report.bubble_makespan_fraction = times.bubble_makespan_fraction;
  report.bubble_span_fraction = times.bubble_span_fraction;
  report.critical_role = critical_role(step);
  if (!report.roles.empty()) {
    report.critical_role_times = report.roles[static_cast<std::size_t>(report.critical_role)].times;
  }
  report.critical_path = critical_path(step);
}

/// Efficiency and utilisations. A model without FLOPs has an efficiency by its compute time, and no utilisations.
void add_utilisation(Report& report, const scenario::Scenario& scenario, const model::WorkModel& work,
                     const deployment::Deployment& deployment) {
  double busiest_flops = 0;
  double busiest_compute = 0;
  double hardware_flops = 0;
  for (const Role& role : report.roles) {
    busiest_flops = std::max(busiest_flops, role.flops);
    busiest_compute = std::max(busiest_compute, role.times.compute_s);
    hardware_flops += role.flops * role.ranks;
  }
  report.devices = deployment.total_ranks;
  const double peak = work.peak.value();
  const bool has_flops = peak > 0 && busiest_flops > 0;
  report.ideal_compute_s = has_flops ? busiest_flops / peak : busiest_compute;
  report.efficiency = std::min(1.0, ratio(report.ideal_compute_s, report.step_s));  // sums round above 1
  const double available = has_flops ? report.devices * peak * report.step_s : 0;
  const double tokens = tokens_per_step(scenario);
  const double model_flops = work.model_flops_per_token.value() * tokens;
  report.model_flop_utilisation = model_flops > 0 ? ratio(model_flops, available) : kUnknown;
  report.hardware_flop_utilisation = ratio(hardware_flops, available);
  report.tokens_per_step = tokens;
  report.tokens_per_s = ratio(tokens, report.step_s);
  report.sequences_per_s = ratio(static_cast<double>(scenario.strategy.global_batch()), report.step_s);
}

void add_memory(Report& report, const scenario::Scenario& scenario) {
  const scenario::Accelerator& accelerator = scenario.cluster.node.accelerator;
  report.memory_capacity_bytes = accelerator.memory.value();
  const Role* highest = nullptr;
  for (const Role& role : report.roles) {
    if (highest == nullptr || role.memory.peak_bytes > highest->memory.peak_bytes * (1 + 1e-12)) {
      highest = &role;
    }
  }
  if (highest != nullptr) {
    report.memory = highest->memory;
    report.why_not = why_not_fit(report.memory, report.memory_capacity_bytes, highest->pipeline_rank, accelerator.name);
  }
  report.fits = report.why_not.empty();
}

bool has_looping_stages(const graph::OperationGraph& graph) {
  int stages = 0;
  for (const graph::Program& program : graph.programs) {
    for (const graph::Operation& operation : program.operations) {
      stages = std::max(stages, operation.stage + 1);
    }
  }
  return static_cast<std::size_t>(stages) > graph.programs.size();
}

void add_warnings(Report& report, const scenario::Scenario& scenario, const graph::OperationGraph& graph) {
  if (report.devices < report.cluster_devices) {
    report.warnings.push_back(fmt::format("The strategy uses {:.0f} of the cluster's {:.0f} devices; {:.0f} stay idle.",
                                          report.devices, report.cluster_devices,
                                          report.cluster_devices - report.devices));
  }
  const scenario::Strategy& strategy = scenario.strategy;
  if (strategy.micro_batches < strategy.pipeline_parallel && has_looping_stages(graph)) {
    report.warnings.push_back(
        fmt::format("{} micro-batches are fewer than {} pipeline ranks: every loop of the pipeline stalls.",
                    strategy.micro_batches, strategy.pipeline_parallel));
  }
}

}  // namespace

Report summarise(const scenario::Scenario& scenario, const model::WorkModel& work, const graph::OperationGraph& graph,
                 const deployment::Deployment& deployment, const fabric::Fabric& fabric,
                 const timeline::Timeline& timeline) {
  const Step step(graph, deployment, timeline);
  const StepTimes times = role_times(step);
  Report report;
  add_choices(report, scenario, work, fabric);
  report.roles = roles(step, times, work.layers);
  add_times(report, step, times);
  add_utilisation(report, scenario, work, deployment);
  add_memory(report, scenario);
  report.links = link_loads(step, fabric, scenario.simulation.transport);
  add_warnings(report, scenario, graph);
  report.training = training(scenario, work, report.step_s, report.devices, report.warnings);
  report.activities = timeline.activities;
  report.simulated_ranks = static_cast<std::int64_t>(deployment.ranks.size());
  report.reference = reference_rows(scenario, report);
  return report;
}

}  // namespace lamina::metrics
