#pragma once

#include <map>
#include <vector>

#include "sim/draw/chart.hpp"
#include "sim/graph/operation_graph.hpp"
#include "sim/timeline/timeline.hpp"

namespace lamina::draw {

/// One rank of a replay.
struct Recorded {
  const graph::Program& program;
  const std::vector<timeline::Span>& spans;
};

/// Seconds that a chart shows.
struct Shown {
  double from = 0;
  double until = 0;
  double least = 0;  ///< gaps and transfers below this are not told apart
};

/// Shade of each stage of a program: its place among them.
[[nodiscard]] std::map<int, int> stage_shades(const graph::Program& program);

/// The compute stream, one box per action, broken where it stands still; recomputation in front.
[[nodiscard]] Lane compute_lane(const Recorded& rank, const Shown& shown, const std::map<int, int>& shades);

}  // namespace lamina::draw
