#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "sim/error/error.hpp"
#include "sim/pipeline/simulate.hpp"
#include "sim/report/validation.hpp"
#include "sim/scenario/scenario.hpp"
#include "validate/hardware_trace/trace.hpp"

/// Traces of real ranks held against what a scenario's graph does.
namespace lamina::validate::hardware_trace {

/// What operations of trace and graph could be matched by.
enum class MatchedBy : std::uint8_t {
  kOperations,  ///< every one by its name: a timeline of Lamina
  kActions,     ///< compute by the ranges that announce pipeline actions, communication by kind and order
  kNothing,     ///< the trace names no passes: sums by class only
};

[[nodiscard]] std::string_view word_for(MatchedBy how);

/// One kind of operation, per recorded rank and step (means).
struct CountRow {
  std::string kind;      ///< "forward", "all_reduce" ...
  double in_trace = -1;  ///< how often; -1: not countable (kernels are not operations)
  double in_graph = -1;
  double trace_bytes = 0;  ///< 0: not known, or none
  double graph_bytes = 0;
  double trace_s = 0;  ///< sum of durations, waiting included; of compute: time with a kernel
  double graph_s = 0;  ///< sum of predicted durations, without waiting
};

struct Comparison {
  MatchedBy how = MatchedBy::kNothing;
  int recorded_ranks = 0;
  double scenario_ranks = 0;
  std::int64_t graph_operations = 0;  ///< of the recorded ranks
  std::int64_t matched = 0;           ///< of them
  bool complete = false;              ///< every operation has its time: all three comparisons stand
  std::vector<CountRow> counts;
  std::int64_t different = 0;            ///< what one side has and the other has not, or in other order
  std::vector<std::string> differences;  ///< the first of them
  /// Step by the model, step replayed with measured compute (not a number where compute is not known), durations by
  /// kind of what was matched.
  report::Validation validation;
};

/// Matches and compares; the communication of several ranks is put on one clock first.
/// @return Infeasible as pipeline::prepare
/// @throws ScenarioError when the traces cannot be of this scenario at all (timelines of other roles)
[[nodiscard]] tl::expected<Comparison, error::Infeasible> compare_traces(const scenario::Scenario& scenario,
                                                                         const pipeline::Catalogs& catalogs,
                                                                         std::vector<RankTrace> traces);

/// Tables of at most 80 columns. `colour`: ANSI escapes.
[[nodiscard]] std::string to_console(const Comparison& comparison, bool colour);

/// JSON document, schema "lamina.trace_compare/1" (docs/hardware_traces.md).
[[nodiscard]] std::string to_json(const Comparison& comparison);

}  // namespace lamina::validate::hardware_trace
