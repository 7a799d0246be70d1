#include "sim/chakra/run_trace.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "sim/deployment/whole.hpp"
#include "sim/disturb/disturb.hpp"
#include "sim/metrics/links.hpp"
#include "sim/metrics/step.hpp"
#include "sim/pipeline/chosen.hpp"
#include "sim/pipeline/size.hpp"
#include "sim/replay/replay.hpp"
#include "sim/symmetry/fold.hpp"

namespace lamina::chakra {
namespace {

using timeline::Span;

/// Sorts spans and joins those that touch.
void merge(std::vector<Span>& spans) {
  std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) { return a.start < b.start; });
  std::size_t kept = 0;
  for (const Span& span : spans) {
    if (kept > 0 && span.start <= spans[kept - 1].end) {
      spans[kept - 1].end = std::max(spans[kept - 1].end, span.end);
    } else {
      spans[kept++] = span;
    }
  }
  spans.resize(kept);
}

double length(const std::vector<Span>& spans) {
  double sum = 0;
  for (const Span& span : spans) {
    sum += span.end - span.start;
  }
  return sum;
}

RankTimes times_of(const graph::Program& program, const std::vector<Span>& spans, double step_s) {
  std::vector<Span> compute;
  std::vector<Span> any;
  double last = 0;
  for (std::size_t i = 0; i < spans.size(); ++i) {
    const graph::Operation& operation = program.operations[i];
    last = std::max(last, spans[i].end);
    const bool computes = operation.kind == graph::OperationKind::kCompute;
    const bool on_device = program.streams[operation.stream].kind == graph::StreamKind::kCompute;
    if (computes && on_device) {
      compute.push_back(spans[i]);
    }
    if (!computes || on_device) {
      any.push_back(spans[i]);
    }
  }
  merge(compute);
  merge(any);
  RankTimes times;
  times.compute_s = length(compute);
  times.exposed_s = std::max(0.0, length(any) - times.compute_s);
  times.tail_s = std::max(0.0, step_s - last);
  times.waiting_s = std::max(0.0, step_s - times.tail_s - length(any));
  return times;
}

Spread spread_of(const std::vector<RankTimes>& ranks, double RankTimes::*part) {
  std::vector<double> values;
  values.reserve(ranks.size());
  for (const RankTimes& rank : ranks) {
    values.push_back(rank.*part);
  }
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  const double median = values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
  return {values.front(), median, values.back()};
}

void count(const Trace& trace, TraceReport& report) {
  std::int64_t sized = 0;
  for (std::size_t r = 0; r < trace.ranks.size(); ++r) {
    for (const Node& node : trace.ranks[r].nodes) {
      ++report.nodes;
      if (node.kind == NodeKind::kSend) {
        ++report.messages;
        report.message_bytes += node.bytes;
        sized += node.bytes > 0 ? 1 : 0;
      } else if (node.kind == NodeKind::kCollective) {
        const Group& group = trace.groups.all[static_cast<std::size_t>(node.group)];
        if (group.members.front() == static_cast<std::int32_t>(r)) {
          CollectiveCount& entry = report.collectives[static_cast<std::size_t>(node.collective)];
          ++entry.collectives;
          entry.bytes += node.bytes;
          sized += node.bytes > 0 && group.members.size() > 1 ? 1 : 0;
        }
      }
    }
  }
  if (sized == 0 && trace.ranks.size() > 1) {
    report.warnings.emplace_back("the ranks exchange no bytes: the network has no effect on this step");
  }
}

void add_warnings(const Trace& trace, TraceReport& report) {
  const auto idle =
      std::count_if(trace.ranks.begin(), trace.ranks.end(), [](const RankTrace& rank) { return rank.nodes.empty(); });
  if (idle > 0) {
    report.warnings.push_back(fmt::format("{} ranks have no nodes", idle));
  }
  if (report.compute_s.most == 0) {
    report.warnings.emplace_back("no compute node has a duration: the step is communication only");
  }
  if (report.devices > report.ranks) {
    report.warnings.push_back(
        fmt::format("{} of {} devices have no rank", report.devices - report.ranks, report.devices));
  }
}

/// Jitter repeats a step many times, and draws by what an operation does, which a trace does not say.
void refuse_jitter(const scenario::Scenario& scenario) {
  if (scenario.disturbances.jitter) {
    error::ScenarioFault fault;
    fault.location.file = scenario.file;
    fault.key = "disturb";
    fault.problem = "Jitter is not applied to traces.";
    fault.allowed = "slow devices, slow links, failed ports and host delays";
    throw error::ScenarioError(fault);
  }
}

/// Messages of the collectives when each is sent apart.
tl::expected<void, error::Infeasible> check_messages(const Trace& trace) {
  double messages = 0;
  for (std::size_t r = 0; r < trace.ranks.size(); ++r) {
    for (const Node& node : trace.ranks[r].nodes) {
      if (node.kind == NodeKind::kCollective) {
        const auto members = static_cast<double>(trace.groups.all[static_cast<std::size_t>(node.group)].members.size());
        messages += 2 * (members - 1);  // a ring's, of one member
      }
    }
  }
  if (messages > pipeline::kLargestSize) {
    return tl::unexpected(error::Infeasible{
        fmt::format("The collectives of {} ranks send about {:.0f} million messages; at most {:.0f} million can be "
                    "simulated. Use `form: fluid`.",
                    trace.ranks.size(), messages / 1e6, pipeline::kLargestSize / 1e6)});
  }
  return {};
}

tl::expected<fabric::Fabric, error::Infeasible> build_fabric(const scenario::Scenario& scenario,
                                                             const pipeline::Catalogs& catalogs) {
  auto fabric = pipeline::chosen(catalogs.topologies, scenario.cluster.topology.name).build(scenario.cluster);
  if (!fabric || scenario.disturbances.empty()) {
    return fabric;
  }
  return disturb::change_fabric(std::move(*fabric), scenario);
}

/// Fills in `deployment` of the run.
/// @return class of each rank; empty: not folded
std::vector<std::int32_t> lay_out(TraceRun& run, const Trace& trace, const scenario::Scenario& scenario,
                                  const fabric::Fabric& fabric, const pipeline::Catalogs& catalogs) {
  const scenario::CollectiveForm form = scenario.simulation.collective_form;
  deployment::Whole whole = deployment::flatten(
      deploy_trace(trace, run.imported, fabric,
                   pipeline::chosen(catalogs.collectives, scenario.simulation.collective_algorithm), form));
  if (!scenario.disturbances.empty()) {
    whole = disturb::change_deployment(std::move(whole), fabric, scenario);
    run.report.warnings = disturb::without_effect(whole, fabric, scenario);
  }
  if (!scenario.simulation.fold || form != scenario::CollectiveForm::kFluid) {
    run.deployment = deployment::expand(whole);
    return {};
  }
  symmetry::Folding folding = symmetry::fold(whole);
  run.deployment = std::move(folding.folded);
  return std::move(folding.class_of_rank);
}

void describe(TraceReport& report, const Trace& trace, const scenario::Scenario& scenario,
              const fabric::Fabric& fabric) {
  report.name = scenario.name;
  report.cluster = scenario.file;
  report.ranks = static_cast<std::int64_t>(trace.ranks.size());
  report.devices = static_cast<std::int64_t>(fabric.devices.size());
  report.network = fabric.description;
  report.transport = scenario.simulation.transport == scenario::Transport::kNoContention ? "no_contention" : "simgrid";
  report.algorithm = scenario.simulation.collective_algorithm;
  report.disturbances = disturb::describe(scenario);
}

void add_times(TraceRun& run, const std::vector<std::int32_t>& class_of_rank) {
  TraceReport& report = run.report;
  std::vector<RankTimes> of_class;
  for (std::size_t r = 0; r < run.deployment.ranks.size(); ++r) {
    const auto program = static_cast<std::size_t>(run.deployment.ranks[r].program);
    of_class.push_back(times_of(run.imported.graph.programs[program], run.timeline.spans[r], report.step_s));
  }
  for (std::int64_t r = 0; r < report.ranks; ++r) {
    const auto rank = static_cast<std::size_t>(r);
    report.rank_times.push_back(of_class[class_of_rank.empty() ? rank : static_cast<std::size_t>(class_of_rank[rank])]);
  }
  report.compute_s = spread_of(report.rank_times, &RankTimes::compute_s);
  report.exposed_s = spread_of(report.rank_times, &RankTimes::exposed_s);
  report.waiting_s = spread_of(report.rank_times, &RankTimes::waiting_s);
}

}  // namespace

tl::expected<TraceRun, error::Infeasible> run_trace(const Trace& trace, const std::string& prefix,
                                                    const scenario::Scenario& scenario,
                                                    const pipeline::Catalogs& catalogs) {
  refuse_jitter(scenario);
  const Matching matching = match(trace);
  check_progress(trace, matching);
  if (scenario.simulation.collective_form == scenario::CollectiveForm::kMessage) {
    if (auto fits = check_messages(trace); !fits) {
      return tl::unexpected(std::move(fits.error()));
    }
  }
  const auto fabric = build_fabric(scenario, catalogs);
  if (!fabric) {
    return tl::unexpected(fabric.error());
  }
  TraceRun run;
  run.imported = import_trace(trace, matching);
  describe(run.report, trace, scenario, *fabric);
  const std::vector<std::int32_t> class_of_rank = lay_out(run, trace, scenario, *fabric, catalogs);
  replay::Options options;
  options.communication_slowdown = scenario.simulation.communication_slowdown;
  options.transport = scenario.simulation.transport;
  run.timeline = replay::replay(run.imported.graph, run.deployment, options);

  TraceReport& report = run.report;
  report.trace = prefix;
  report.step_s = run.timeline.end_s;
  report.programs = static_cast<std::int64_t>(run.imported.graph.programs.size());
  report.replayed_ranks = static_cast<std::int64_t>(run.deployment.ranks.size());
  report.activities = run.timeline.activities;
  add_times(run, class_of_rank);
  const metrics::Step step(run.imported.graph, run.deployment, run.timeline);
  report.links = metrics::link_loads(step, *fabric);
  count(trace, report);
  add_warnings(trace, report);
  return run;
}

}  // namespace lamina::chakra
