#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/deployment/deployment.hpp"
#include "sim/graph/operation_graph.hpp"
#include "sim/timeline/timeline.hpp"

namespace lamina::metrics {

/// An operation as one rank of the deployment ran it.
struct Run {
  std::size_t rank = 0;
  std::uint32_t operation = 0;  ///< of the rank's program
};

/// A graph, who ran it and when, with the look-ups that every question needs. Refers to its arguments.
class Step {
 public:
  /// Builds the reverse of `graph.edges` once for all ranks of a program, in time linear in its size.
  /// @throws InternalError when the timeline has not one span per rank and operation, or a span ends after the step
  Step(const graph::OperationGraph& graph, const deployment::Deployment& deployment,
       const timeline::Timeline& timeline);

  [[nodiscard]] const graph::OperationGraph& graph() const { return *graph_; }

  [[nodiscard]] const deployment::Deployment& deployment() const { return *deployment_; }

  [[nodiscard]] const timeline::Timeline& timeline() const { return *timeline_; }

  /// Step time, seconds.
  [[nodiscard]] double time() const { return timeline_->end_s; }

  /// Seconds within which two moments count as one: 1e-12 of the step.
  [[nodiscard]] double slack() const { return slack_; }

  [[nodiscard]] std::size_t ranks() const { return deployment_->ranks.size(); }

  [[nodiscard]] const graph::Program& program(std::size_t rank) const {
    return graph_->programs[static_cast<std::size_t>(deployment_->ranks[rank].program)];
  }

  [[nodiscard]] const graph::Operation& operation(Run run) const { return program(run.rank).operations[run.operation]; }

  [[nodiscard]] const timeline::Span& span(Run run) const { return timeline_->spans[run.rank][run.operation]; }

  /// Whether the operation occupies the stream that computes.
  [[nodiscard]] bool on_compute_stream(Run run) const {
    return program(run.rank).streams[operation(run).stream].kind == graph::StreamKind::kCompute;
  }

  /// Operations of the same program that must end before this one starts, as vertices.
  [[nodiscard]] std::span<const std::uint32_t> predecessors(Run run) const;

  /// The predecessor on the same rank that ended last. Among those that ended together a compute operation comes first,
  /// then the lowest operation number. Empty when there is none.
  [[nodiscard]] std::optional<Run> latest_predecessor(Run run) const;

  /// The operation of the rank that ended last, by the same rule. Empty when the rank has none.
  [[nodiscard]] std::optional<Run> last_operation(std::size_t rank) const;

  /// End of the rank's last operation, seconds; 0 when it has none.
  [[nodiscard]] double last_end(std::size_t rank) const { return last_end_[rank]; }

 private:
  const graph::OperationGraph* graph_;
  const deployment::Deployment* deployment_;
  const timeline::Timeline* timeline_;
  double slack_ = 0;
  std::vector<std::uint32_t> offsets_;  ///< [vertex], and the total at the end
  std::vector<std::uint32_t> sources_;
  std::vector<double> last_end_;
};

/// Whether the operation waits for other ranks before it starts.
[[nodiscard]] bool has_peer(const graph::Operation& operation);

/// What the operation's time is charged to when compute waits for it; never kNone.
[[nodiscard]] graph::Traffic traffic_of(const graph::Operation& operation);

/// "backward of layer 31, micro-batch 0". `layers`: of the whole model; the layer after the last one is the head.
[[nodiscard]] std::string short_name(const graph::Operation& operation, int layers);

}  // namespace lamina::metrics
