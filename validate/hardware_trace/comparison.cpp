#include "validate/hardware_trace/comparison.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "sim/replay/replay.hpp"
#include "validate/compare.hpp"
#include "validate/duration_samples.hpp"
#include "validate/hardware_trace/byte_source.hpp"
#include "validate/hardware_trace/clocks.hpp"
#include "validate/hardware_trace/matching.hpp"
#include "validate/prepare.hpp"

namespace lamina::validate::hardware_trace {
namespace {

constexpr double kNanoseconds = 1e9;

/// Whether all traces are timelines of Lamina.
bool are_timelines(const std::vector<RankTrace>& traces) {
  const auto count =
      std::count_if(traces.begin(), traces.end(), [](const RankTrace& t) { return t.format == Format::kTimeline; });
  if (count != 0 && std::cmp_not_equal(count, traces.size())) {
    refuse(traces.back().file, "Timelines of Lamina and traces of a profiler cannot be compared together.", {},
           "traces of one kind");
  }
  return count != 0;
}

bool has_span(const timeline::Span& span) {
  return std::isfinite(span.start) && std::isfinite(span.end);
}

/// Counts what was matched; true when every operation of every rank was.
bool count_matched(const Matching& matching, Comparison& into) {
  bool complete = true;
  for (std::size_t rank = 0; rank < matching.spans.size(); ++rank) {
    const auto& spans = matching.spans[rank];
    const auto matched = std::count_if(spans.begin(), spans.end(), has_span);
    complete = complete && std::cmp_equal(matched, spans.size());
    if (matching.trace_of_rank[rank] >= 0) {
      into.graph_operations += static_cast<std::int64_t>(spans.size());
      into.matched += matched;
    }
  }
  return complete && into.graph_operations > 0;
}

/// Step replayed with the measured duration of every compute operation; work outside passes (the update) keeps the
/// model's. Not a number when a pass has no measured time.
double replay_measured(const Model& model, const Matching& matching, replay::Options options) {
  std::vector<std::vector<double>> durations;
  for (std::size_t rank = 0; rank < matching.spans.size(); ++rank) {
    const graph::Program& program = model.program_of(rank);
    auto& of_rank = durations.emplace_back();
    for (std::size_t i = 0; i < program.operations.size(); ++i) {
      const timeline::Span& span = matching.spans[rank][i];
      const bool must = program.operations[i].kind == graph::OperationKind::kCompute &&
                        program.operations[i].phase != graph::Phase::kUpdate;
      if (must && !has_span(span)) {
        return std::numeric_limits<double>::quiet_NaN();
      }
      of_rank.push_back(has_span(span) ? span.end - span.start : model.predicted_s(rank, i));
    }
  }
  options.compute_durations = &durations;
  options.communication_slowdown = 0;  // durations in place hold it already
  return replay::replay(model.graph, model.deployment, options).end_s;
}

std::vector<report::DurationRow> duration_rows(const Model& model, const Matching& matching) {
  DurationSamples samples;
  for (std::size_t rank = 0; rank < matching.spans.size(); ++rank) {
    const graph::Program& program = model.program_of(rank);
    for (std::size_t i = 0; i < program.operations.size(); ++i) {
      const timeline::Span& span = matching.spans[rank][i];
      if (program.operations[i].kind != graph::OperationKind::kSend && has_span(span)) {  // a message: its receiver
        samples.add(program.operations[i], model.predicted_s(rank, i), {span.end - span.start});
      }
    }
  }
  return samples.rows();
}

/// What of the three comparisons stands when not everything was matched.
report::Validation partial_validation(const Model& model, const Matching& matching, double measured_s,
                                      const replay::Options& options) {
  report::Validation result;
  result.measured_s = result.measured_least_s = result.measured_most_s = measured_s;
  result.predicted_s = model.predicted.end_s;
  result.structural_s = replay_measured(model, matching, options);
  result.structural_worst = result.structural_error();
  result.predicted_hidden = std::numeric_limits<double>::quiet_NaN();
  result.measured_hidden = result.predicted_hidden;
  result.durations = duration_rows(model, matching);
  return result;
}

report::Validation full_validation(const Model& model, const Matching& matching, double measured_s,
                                   const replay::Options& options) {
  Execution execution;
  execution.timeline.spans = matching.spans;
  execution.timeline.end_s = measured_s;
  return compare(model.graph, model.deployment, {execution}, options);
}

double last_end(const std::vector<RankTrace>& traces) {
  std::int64_t last = 0;
  for (const RankTrace& trace : traces) {
    for (const Event& event : trace.events) {
      last = std::max(last, event.end_ns());
    }
  }
  return static_cast<double>(last) / kNanoseconds;
}

/// Every rank by itself, where every rank was recorded and that is not too much; else what `prepare` made.
std::optional<deployment::Deployment> whole_deployment(const scenario::Scenario& scenario,
                                                       const pipeline::Catalogs& catalogs,
                                                       const pipeline::Prepared& prepared, std::size_t recorded) {
  const double operations = static_cast<double>(prepared.graph.size()) * prepared.whole_ranks /
                            static_cast<double>(scenario.strategy.pipeline_parallel);
  if (static_cast<double>(recorded) < prepared.whole_ranks || operations > kMostOperations) {
    return std::nullopt;
  }
  scenario::Scenario unfolded = scenario;
  unfolded.simulation.fold = false;
  return pipeline::lay_out(unfolded, prepared.graph, prepared.fabric, catalogs).deployment;
}

void add_warnings(const std::vector<RankTrace>& traces, const std::vector<int>& programs, Comparison& into) {
  auto& warnings = into.validation.warnings;
  if (into.how == MatchedBy::kNothing) {
    warnings.emplace_back(
        "The traces name no pipeline passes (PP: ranges), so operations cannot be matched one to one: sums by class "
        "are compared. Whether they are of the model in the scenario is not known.");
  } else if (!into.complete) {
    warnings.emplace_back("Not everything was matched: durations by kind are of what was.");
  }
  if (into.how == MatchedBy::kActions && std::isfinite(into.validation.structural_s) && !into.complete) {
    warnings.emplace_back("Work outside passes (the update) has the model's time in the replay.");
  }
  const auto unplaced = std::count(programs.begin(), programs.end(), -1);
  if (unplaced > 0) {
    warnings.push_back(
        fmt::format("{} of {} traces name neither a stage nor a rank of the scenario.", unplaced, programs.size()));
  }
  for (const RankTrace& trace : traces) {
    if (trace.world_size > 0 && trace.world_size != into.scenario_ranks) {
      warnings.push_back(fmt::format("The traces are of a job of {} ranks, the scenario has {:.0f}.", trace.world_size,
                                     into.scenario_ranks));
      return;
    }
  }
}

void fill(Comparison& into, const Model& model, const Matching& matching, double measured_s,
          const replay::Options& options) {
  into.complete = count_matched(matching, into);
  into.different = matching.different;
  into.differences = matching.differences;
  into.validation = into.complete ? full_validation(model, matching, measured_s, options)
                                  : partial_validation(model, matching, measured_s, options);
}

}  // namespace

std::string_view word_for(MatchedBy how) {
  switch (how) {
    case MatchedBy::kOperations:
      return "operations";
    case MatchedBy::kActions:
      return "actions";
    case MatchedBy::kNothing:
      break;
  }
  return "classes";
}

tl::expected<Comparison, error::Infeasible> compare_traces(const scenario::Scenario& scenario,
                                                           const pipeline::Catalogs& catalogs,
                                                           std::vector<RankTrace> traces) {
  const bool timelines = are_timelines(traces);
  const auto prepared = pipeline::prepare(scenario, catalogs);
  if (!prepared) {
    return tl::unexpected(prepared.error());
  }
  const auto whole = timelines ? std::nullopt : whole_deployment(scenario, catalogs, *prepared, traces.size());
  const deployment::Deployment& deployment = whole ? *whole : prepared->deployment;
  replay::Options options;
  options.record_flows = false;
  options.transport = scenario.simulation.transport;
  options.communication_slowdown = scenario.simulation.communication_slowdown;
  const timeline::Timeline predicted = replay::replay(prepared->graph, deployment, options);
  const Model model{prepared->graph, deployment, predicted};
  Comparison result;
  result.recorded_ranks = static_cast<int>(traces.size());
  result.scenario_ranks = prepared->whole_ranks;
  std::vector<int> programs;
  if (timelines) {
    result.how = MatchedBy::kOperations;
    fill(result, model, match_timelines(model, traces), last_end(traces), options);
    result.counts = count_timeline_rows(model, traces);
  } else {
    const Matched matched = match_instances(traces);
    std::vector<ClockOffset> offsets = estimate_offsets(traces, matched);
    align(traces, offsets);
    const Window window = choose_step(traces);
    programs = programs_of_traces(model, scenario.strategy, traces);
    const bool passes = std::any_of(traces.begin(), traces.end(), [](const RankTrace& trace) {
      return std::any_of(trace.actions.begin(), trace.actions.end(), [](const Action& a) { return a.kind != '?'; });
    });
    result.how = passes ? MatchedBy::kActions : MatchedBy::kNothing;
    const double measured_s = static_cast<double>(window.end_ns - window.start_ns) / kNanoseconds;
    fill(result, model, passes ? match_actions(model, traces, programs, window, matched) : empty_matching(model),
         measured_s, options);
    result.counts = count_rows(model, traces, programs, window);
  }
  result.validation.name = scenario.name;
  result.validation.backend = "recorded";
  result.validation.ranks = static_cast<int>(prepared->whole_ranks);
  result.validation.repeats = 1;
  add_warnings(traces, programs, result);
  return result;
}

}  // namespace lamina::validate::hardware_trace
