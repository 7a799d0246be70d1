#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/graph/operation_graph.hpp"
#include "sim/pipeline/simulate.hpp"
#include "sim/scenario/scenario.hpp"

/// What arXiv 2106.02679 (section on arithmetic intensities) says about bandwidth, without any replay: a transfer hides
/// behind the compute next to it.
namespace lamina::requirements {

/// Equal transfers of one device, each with compute that it can hide behind.
struct HiddenTransfers {
  double count = 0;  ///< per step
  double bytes = 0;  ///< that the device sends for one of them
  double hides_behind_s = 0;
};

/// All transfers of a traffic class of the pipeline rank that needs the most.
struct ClosedForm {
  std::vector<HiddenTransfers> transfers;
  std::string formula;  ///< in words

  /// Bytes that one device sends per step.
  [[nodiscard]] double bytes() const;

  /// Least bandwidth of one device and direction, bytes per second, at which what does not hide is `exposed_s` at most:
  /// the sum over transfers of count x max(0, bytes / bandwidth - hides_behind) (the paper's overhead, o x compute).
  [[nodiscard]] double bandwidth(double exposed_s) const;
};

/// Per traffic class; none where the class moves nothing:
///  * restore: every all-gather hides behind the forward (or backward) compute until the next one. With m micro-batches
///    of b sequences per replica that is the paper's intensity 1/2 m b s for layered and 1/2 b s for plain
///    accumulation;
///  * reduce: behind the backward of the micro-batches that a stage computes in a row before its gradients are complete
///    (3/4 m b s and 3/4 b s for an all-reduce), or, with sharded gradients, until the next reduction;
///  * pipeline: behind the forward (or backward) of one stage and micro-batch (6 h K and 18 h K, sliced sends);
///  * tensor: nothing hides it; offload: behind the whole compute.
[[nodiscard]] std::optional<ClosedForm> closed_form(const scenario::Scenario& scenario,
                                                    const pipeline::Prepared& prepared, graph::Traffic traffic,
                                                    double exposed_s);

}  // namespace lamina::requirements
