#include <string>

#include "sim/report/json_values.hpp"
#include "validate/hardware_trace/comparison.hpp"

/// Traces beside a prediction, for programs.
namespace lamina::validate::hardware_trace {
namespace {

using report::Json;
using report::number;

Json known(double value) {
  return value < 0 ? Json(nullptr) : number(value);
}

}  // namespace

std::string to_json(const Comparison& comparison) {
  Json counts = Json::array();
  for (const CountRow& row : comparison.counts) {
    counts.push_back(Json{{"kind", row.kind},
                          {"in_trace", known(row.in_trace)},
                          {"in_graph", known(row.in_graph)},
                          {"trace_bytes", number(row.trace_bytes)},
                          {"graph_bytes", number(row.graph_bytes)},
                          {"trace_s", number(row.trace_s)},
                          {"graph_s", number(row.graph_s)}});
  }
  return report::document(Json{{"schema", "lamina.trace_compare/1"},
                               {"matched_by", word_for(comparison.how)},
                               {"recorded_ranks", comparison.recorded_ranks},
                               {"scenario_ranks", report::count(comparison.scenario_ranks)},
                               {"operations", comparison.graph_operations},
                               {"matched", comparison.matched},
                               {"complete", comparison.complete},
                               {"different", comparison.different},
                               {"differences", comparison.differences},
                               {"classes", counts},
                               {"validation", Json::parse(report::to_json(comparison.validation))}});
}

}  // namespace lamina::validate::hardware_trace
