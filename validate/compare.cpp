#include "validate/compare.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "sim/error/error.hpp"
#include "sim/metrics/memory.hpp"
#include "sim/metrics/role_times.hpp"
#include "sim/metrics/step.hpp"
#include "validate/duration_samples.hpp"
#include "validate/statistics.hpp"

namespace lamina::validate {
namespace {

using Durations = std::vector<std::vector<double>>;  ///< [rank][operation] seconds

/// The repeat whose step is the median (the shorter of two).
std::size_t median_repeat(const std::vector<Execution>& executions) {
  std::vector<std::size_t> order(executions.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(executions[a].timeline.end_s, a) < std::pair(executions[b].timeline.end_s, b);
  });
  return order[(order.size() - 1) / 2];
}

Durations durations_of(const timeline::Timeline& timeline) {
  Durations durations;
  for (const auto& spans : timeline.spans) {
    auto& of_rank = durations.emplace_back();
    for (const timeline::Span& span : spans) {
      of_rank.push_back(span.end - span.start);
    }
  }
  return durations;
}

/// Every operation that happened, once: a message counts at its receiver, where it can be seen to have come.
template <class Visit>
void for_each_run(const graph::OperationGraph& graph, const deployment::Deployment& deployment, Visit visit) {
  for (std::size_t rank = 0; rank < deployment.ranks.size(); ++rank) {
    const auto& operations = graph.programs[static_cast<std::size_t>(deployment.ranks[rank].program)].operations;
    for (std::uint32_t i = 0; i < operations.size(); ++i) {
      if (operations[i].kind != graph::OperationKind::kSend) {
        visit(rank, i, operations[i]);
      }
    }
  }
}

std::vector<report::DurationRow> duration_rows(const graph::OperationGraph& graph,
                                               const deployment::Deployment& deployment,
                                               const timeline::Timeline& predicted,
                                               const std::vector<Execution>& executions) {
  DurationSamples samples;
  for_each_run(graph, deployment, [&](std::size_t rank, std::uint32_t i, const graph::Operation& operation) {
    const auto length = [&](const timeline::Timeline& timeline) {
      return timeline.spans[rank][i].end - timeline.spans[rank][i].start;
    };
    std::vector<double> measured;
    for (const Execution& execution : executions) {
      measured.push_back(length(execution.timeline));
    }
    samples.add(operation, length(predicted), measured);
  });
  return samples.rows();
}

/// Of each pipeline rank the rank that computes longest in the prediction.
std::vector<report::RankRow> rank_rows(const graph::OperationGraph& graph, const deployment::Deployment& deployment,
                                       const timeline::Timeline& predicted, const timeline::Timeline& measured) {
  const auto expected = metrics::role_times(metrics::Step(graph, deployment, predicted)).ranks;
  const auto seen = metrics::role_times(metrics::Step(graph, deployment, measured)).ranks;
  std::vector<report::RankRow> rows(graph.programs.size());
  std::vector<char> filled(graph.programs.size(), 0);
  for (std::size_t rank = 0; rank < deployment.ranks.size(); ++rank) {
    const auto program = static_cast<std::size_t>(deployment.ranks[rank].program);
    if (!filled[program] || expected[rank].compute_s > rows[program].predicted.compute_s) {
      rows[program] = {deployment.ranks[rank].program, expected[rank], seen[rank]};
      filled[program] = 1;
    }
  }
  return rows;
}

/// Operations that began after one that, by the prediction, they precede clearly (by more than a thousandth of the
/// step).
void list_reorderings(const graph::OperationGraph& graph, const deployment::Deployment& deployment,
                      const timeline::Timeline& predicted, const timeline::Timeline& measured,
                      report::Validation& into) {
  constexpr std::size_t kListed = 10;
  const double slack = 1e-3;
  for (std::size_t rank = 0; rank < deployment.ranks.size(); ++rank) {
    const auto& expected = predicted.spans[rank];
    const auto& seen = measured.spans[rank];
    std::vector<std::uint32_t> order(expected.size());
    std::iota(order.begin(), order.end(), 0U);
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      return std::pair(expected[a].start, a) < std::pair(expected[b].start, b);
    });
    for (std::size_t k = 0; k + 1 < order.size(); ++k) {
      const std::uint32_t first = order[k];
      const std::uint32_t then = order[k + 1];
      if (expected[then].start - expected[first].start <= slack * predicted.end_s ||
          seen[first].start - seen[then].start <= slack * measured.end_s) {
        continue;
      }
      ++into.reordered;
      if (into.reorderings.size() < kListed) {
        const int program = deployment.ranks[rank].program;
        into.reorderings.push_back(fmt::format("{} began after {}",
                                               graph::describe(graph, graph.vertex(program, first)),
                                               graph::describe(graph, graph.vertex(program, then))));
      }
    }
  }
}

/// Of the fullest rank.
double peak_bytes(const metrics::Step& step) {
  double most = 0;
  for (const report::Memory& memory : metrics::memory_of_ranks(step, 0)) {
    most = std::max(most, memory.peak_bytes);
  }
  return most;
}

void check(const deployment::Deployment& deployment, const std::vector<Execution>& executions) {
  if (executions.empty()) {
    throw error::InternalError("there is no execution to compare with");
  }
  for (const Execution& execution : executions) {
    if (execution.timeline.spans.size() != deployment.ranks.size()) {
      throw error::InternalError(fmt::format("an execution of {} ranks is compared with a deployment of {}",
                                             execution.timeline.spans.size(), deployment.ranks.size()));
    }
  }
}

}  // namespace

double hidden_share(const graph::OperationGraph& graph, const deployment::Deployment& deployment,
                    const timeline::Timeline& timeline) {
  double transfers = 0;
  double hidden = 0;
  for (std::size_t rank = 0; rank < deployment.ranks.size(); ++rank) {
    const auto& operations = graph.programs[static_cast<std::size_t>(deployment.ranks[rank].program)].operations;
    std::vector<timeline::Span> compute;
    for (std::size_t i = 0; i < operations.size(); ++i) {
      if (operations[i].kind == graph::OperationKind::kCompute) {
        compute.push_back(timeline.spans[rank][i]);
      }
    }
    std::sort(compute.begin(), compute.end(),
              [](const timeline::Span& a, const timeline::Span& b) { return a.start < b.start; });
    for (std::size_t i = 0; i < operations.size(); ++i) {
      if (operations[i].kind == graph::OperationKind::kCompute) {
        continue;
      }
      const timeline::Span& transfer = timeline.spans[rank][i];
      transfers += transfer.end - transfer.start;
      auto at = std::partition_point(compute.begin(), compute.end(),
                                     [&](const timeline::Span& span) { return span.end <= transfer.start; });
      for (; at != compute.end() && at->start < transfer.end; ++at) {
        hidden += std::min(at->end, transfer.end) - std::max(at->start, transfer.start);
      }
    }
  }
  return transfers > 0 ? hidden / transfers : 0;
}

report::Validation compare(const graph::OperationGraph& graph, const deployment::Deployment& deployment,
                           const std::vector<Execution>& executions, const replay::Options& options,
                           Timelines* timelines) {
  check(deployment, executions);
  report::Validation result;
  result.ranks = static_cast<int>(deployment.ranks.size());
  result.repeats = static_cast<int>(executions.size());
  const timeline::Timeline predicted = replay::replay(graph, deployment, options);
  result.predicted_s = predicted.end_s;
  std::vector<double> steps;
  for (const Execution& execution : executions) {
    steps.push_back(execution.timeline.end_s);
  }
  const std::size_t middle = median_repeat(executions);
  result.measured_s = median(steps);
  result.measured_least_s = *std::min_element(steps.begin(), steps.end());
  result.measured_most_s = *std::max_element(steps.begin(), steps.end());
  for (std::size_t i = 0; i < executions.size(); ++i) {
    const Durations durations = durations_of(executions[i].timeline);
    replay::Options structural = options;
    structural.compute_durations = &durations;
    structural.communication_slowdown = 0;  // durations in place hold it already
    structural.receiving_slowdown.reset();
    const double step = replay::replay(graph, deployment, structural).end_s;
    const double error = step / steps[i] - 1;
    if (std::abs(error) > std::abs(result.structural_worst)) {
      result.structural_worst = error;
    }
    if (i == middle) {
      result.structural_s = step * result.measured_s / steps[i];
    }
  }
  const timeline::Timeline& measured = executions[middle].timeline;
  result.predicted_hidden = hidden_share(graph, deployment, predicted);
  result.measured_hidden = hidden_share(graph, deployment, measured);
  result.durations = duration_rows(graph, deployment, predicted, executions);
  result.rank_rows = rank_rows(graph, deployment, predicted, measured);
  result.predicted_peak_bytes = peak_bytes(metrics::Step(graph, deployment, predicted));
  result.measured_peak_bytes = peak_bytes(metrics::Step(graph, deployment, measured));
  list_reorderings(graph, deployment, predicted, measured, result);
  if (timelines != nullptr) {
    *timelines = {predicted, measured};
  }
  return result;
}

}  // namespace lamina::validate
