#include "validate/scenario_step.hpp"

#include <cstddef>

#include "validate/duration_samples.hpp"

namespace lamina::validate {

void add_scenario_step(const Executable& executable, report::Validation& into) {
  const graph::OperationGraph& graph = executable.prepared.graph;
  into.scenario_s = replay::replay(graph, executable.prepared.deployment, executable.options).end_s;
  const timeline::Timeline timeline = replay::replay(graph, executable.deployment, executable.options);
  DurationSamples samples;
  for (std::size_t rank = 0; rank < timeline.spans.size(); ++rank) {
    const auto program = static_cast<std::size_t>(executable.deployment.ranks[rank].program);
    const auto& operations = graph.programs[program].operations;
    for (std::size_t i = 0; i < operations.size(); ++i) {
      if (operations[i].kind != graph::OperationKind::kSend) {  // as compare: a message counts at its receiver
        const timeline::Span& span = timeline.spans[rank][i];
        samples.add(operations[i], span.end - span.start, {span.end - span.start});
      }
    }
  }
  for (const report::DurationRow& row : samples.rows()) {
    for (report::DurationRow& of_both : into.durations) {
      if (of_both.kind == row.kind && of_both.bytes == row.bytes) {
        of_both.scenario_s = row.predicted_s;
      }
    }
  }
}

}  // namespace lamina::validate
