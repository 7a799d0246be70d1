#pragma once

#include <algorithm>

#include "sim/graph/operation_graph.hpp"

namespace lamina::graph {

/// When the host of a rank launches what stands on the rank's compute stream. The host runs ahead of the device; it is
/// asked in stream order, about each operation when everything that the operation waits for is done.
class LaunchQueue {
 public:
  /// Date at which the host begins to launch `next`.
  double launch(const Operation& next, double now) {
    const double begin = next.host_waits ? std::max(free_, now) : free_;
    free_ = begin + next.host_s;
    return begin;
  }

 private:
  double free_ = 0;
};

}  // namespace lamina::graph
