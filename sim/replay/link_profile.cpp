#include "sim/replay/link_profile.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lamina::replay {

LinkProfile::Stretch LinkProfile::at(double time) const {
  const auto& changes = profile_.changes;
  const double period = profile_.period_s;
  // Dates are made in one way and compared as they are: after a timer at the date of a change, that change is past.
  const auto date = [&](double cycle, std::size_t index) { return cycle * period + changes[index].at.value(); };
  double cycle = period > 0 ? std::max(0.0, std::floor(time / period) - 1) : 0;
  std::size_t index = 0;
  while (true) {
    const bool last = index + 1 == changes.size();
    if (last && period <= 0) {
      return {changes[index].share, std::numeric_limits<double>::infinity()};
    }
    const double next_cycle = last ? cycle + 1 : cycle;
    const std::size_t next = last ? 0 : index + 1;
    if (date(next_cycle, next) > time) {
      return {changes[index].share, date(next_cycle, next)};
    }
    cycle = next_cycle;
    index = next;
  }
}

}  // namespace lamina::replay
