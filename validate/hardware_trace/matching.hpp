#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "sim/deployment/deployment.hpp"
#include "sim/graph/operation_graph.hpp"
#include "sim/timeline/timeline.hpp"
#include "validate/hardware_trace/comparison.hpp"
#include "validate/hardware_trace/instances.hpp"
#include "validate/hardware_trace/trace.hpp"

/// Which event of a trace is which operation of the graph.
namespace lamina::validate::hardware_trace {

/// The scenario's side.
struct Model {
  const graph::OperationGraph& graph;
  const deployment::Deployment& deployment;
  const timeline::Timeline& predicted;  ///< of the deployment

  [[nodiscard]] const graph::Program& program_of(std::size_t rank) const {
    return graph.programs[static_cast<std::size_t>(deployment.ranks[rank].program)];
  }

  [[nodiscard]] double predicted_s(std::size_t rank, std::size_t operation) const {
    const timeline::Span& span = predicted.spans[rank][operation];
    return span.end - span.start;
  }
};

/// Measured spans; a start that is no number: none.
struct Matching {
  std::vector<int> trace_of_rank;                  ///< [deployment rank] index of its trace; -1: none
  std::vector<std::vector<timeline::Span>> spans;  ///< [deployment rank][operation] seconds from `start_ns`
  std::int64_t different = 0;
  std::vector<std::string> differences;

  void differ(std::string text) {
    constexpr std::size_t kListed = 10;
    ++different;
    if (differences.size() < kListed) {
      differences.push_back(std::move(text));
    }
  }
};

inline constexpr timeline::Span kNoSpan{std::numeric_limits<double>::quiet_NaN(),
                                        std::numeric_limits<double>::quiet_NaN()};

/// An empty matching of the deployment's shape.
[[nodiscard]] Matching empty_matching(const Model& model);

/// Timelines of Lamina: the k-th slice of a stream is its k-th operation, and must carry its name, layer and bytes.
/// @throws ScenarioError when no process of the timelines is a role of the deployment
[[nodiscard]] Matching match_timelines(const Model& model, const std::vector<RankTrace>& traces);

/// The part of traces that is compared: one step.
struct Window {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::vector<int> step;  ///< [trace] index of the step; -1: all of the trace
  double steps = 1;       ///< steps that the traces hold, for means
};

/// The step of median length, by its number, where the traces name steps.
[[nodiscard]] Window choose_step(const std::vector<RankTrace>& traces);

/// [trace] the program that it ran: by the stages that its actions name, else by its rank and the scenario's
/// placement; -1: neither tells.
[[nodiscard]] std::vector<int> programs_of_traces(const Model& model, const scenario::Strategy& strategy,
                                                  const std::vector<RankTrace>& traces);

/// Profiler traces: compute by announced actions, whose time is divided among their operations as predicted; messages
/// and collectives of one kind by order, where a rank has as many as the graph.
[[nodiscard]] Matching match_actions(const Model& model, const std::vector<RankTrace>& traces,
                                     const std::vector<int>& programs, const Window& window, const Matched& matched);

/// Counts and sums by class of the recorded ranks, per rank and step.
[[nodiscard]] std::vector<CountRow> count_rows(const Model& model, const std::vector<RankTrace>& traces,
                                               const std::vector<int>& programs, const Window& window);

/// The same for timelines of Lamina, whose operations have the graph's names.
[[nodiscard]] std::vector<CountRow> count_timeline_rows(const Model& model, const std::vector<RankTrace>& traces);

}  // namespace lamina::validate::hardware_trace
