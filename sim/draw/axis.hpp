#pragma once

#include <string>
#include <vector>

namespace lamina::draw {

struct Tick {
  double time = 0;
  std::string label;  ///< "1.5 s"; "10" for units
};

/// Ticks at round times (1, 2 or 5 times a power of ten) between `start` and `end`, at most `most` intervals. None when
/// there is no time between them.
[[nodiscard]] std::vector<Tick> ticks(double start, double end, bool seconds, int most);

}  // namespace lamina::draw
