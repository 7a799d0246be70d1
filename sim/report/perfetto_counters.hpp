#pragma once

#include <cstdint>
#include <vector>

#include "sim/deployment/deployment.hpp"
#include "sim/graph/operation_graph.hpp"
#include "sim/timeline/timeline.hpp"

/// Step functions of time that the trace shows as counters.
namespace lamina::report {

/// A value from `time_ns` on.
struct Sample {
  std::uint64_t time_ns = 0;
  double value = 0;
  auto operator<=>(const Sample&) const = default;
};

/// Bytes held in one category by a rank that runs `program` with these spans; one sample per change. Empty if nothing
/// is ever held.
[[nodiscard]] std::vector<Sample> memory_over_time(const graph::Program& program,
                                                   const std::vector<timeline::Span>& spans,
                                                   graph::MemoryCategory category);

/// The link of a class that carries the most bytes over the step (the first of equals), and bytes per second on it.
struct LinkLoadOverTime {
  std::int32_t link = -1;  ///< of the deployment; -1: the class carries nothing
  std::vector<Sample> bytes_per_s;
};

/// [link class]; flows at their average rate, a link that a flow crosses k times carries k times its rate.
[[nodiscard]] std::vector<LinkLoadOverTime> busiest_links_over_time(const deployment::Deployment& deployment,
                                                                    const timeline::Timeline& timeline);

}  // namespace lamina::report
