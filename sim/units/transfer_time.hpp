#pragma once

#include <algorithm>
#include <limits>
#include <vector>

namespace lamina {

/// What a transfer takes when nothing shares its links: the least of several lines, one per way to do it. No line: no
/// time.
struct TransferTime {
  struct Line {
    double latency_s = 0;
    double s_per_byte = 0;
  };

  std::vector<Line> lines;

  [[nodiscard]] double seconds(double bytes) const {
    double least = lines.empty() ? 0 : std::numeric_limits<double>::infinity();
    for (const Line& line : lines) {
      least = std::min(least, line.latency_s + bytes * line.s_per_byte);
    }
    return least;
  }
};

}  // namespace lamina
