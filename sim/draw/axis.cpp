#include "sim/draw/axis.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace lamina::draw {
namespace {

struct Unit {
  double seconds;
  const char* name;
};

/// Of the largest time on the axis, so that all labels have the same.
Unit unit_for(double largest) {
  for (const Unit unit : {Unit{1, " s"}, Unit{1e-3, " ms"}, Unit{1e-6, " us"}}) {
    if (largest >= unit.seconds) {
      return unit;
    }
  }
  return {1e-9, " ns"};
}

/// Smallest of 1, 2, 5 times a power of ten that is not below `least`.
double round_step(double least) {
  const double power = std::pow(10, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= least * (1 - 1e-9)) {
      return factor * power;
    }
  }
  return 10 * power;
}

}  // namespace

std::vector<Tick> ticks(double start, double end, bool seconds, int most) {
  std::vector<Tick> result;
  if (!(end > start) || !std::isfinite(end) || most < 1) {
    return result;
  }
  const Unit unit = seconds ? unit_for(end) : Unit{1, ""};
  const double step = round_step((end - start) / unit.seconds / most);
  const int decimals = std::max(0, static_cast<int>(std::ceil(-std::log10(step) - 1e-9)));
  const double first = std::ceil(start / unit.seconds / step - 1e-9);
  const double last = std::floor(end / unit.seconds / step + 1e-9);
  for (double index = first; index <= last; ++index) {
    const double value = index * step;
    result.push_back({value * unit.seconds, value == 0 ? "0" : fmt::format("{:.{}f}{}", value, decimals, unit.name)});
  }
  return result;
}

}  // namespace lamina::draw
