#include "sim/pipeline/coarse_memory.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <numeric>
#include <vector>

namespace lamina::pipeline {
namespace {

constexpr double kOneMoment = 1e-9;

struct Change {
  double time = 0;
  double bytes = 0;
};

}  // namespace

double memory_peak(const graph::Program& program, const timeline::Span* spans, double step_s) {
  std::vector<Change> changes;
  changes.reserve(program.memory_effects.size());
  for (const graph::MemoryEffect& effect : program.memory_effects) {
    const timeline::Span& span = spans[effect.operation];
    changes.push_back({effect.at_end ? span.end : span.start, effect.bytes});
  }
  std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) { return a.time < b.time; });
  double now = std::accumulate(std::begin(program.initial_memory), std::end(program.initial_memory), 0.0);
  double peak = now;
  for (std::size_t begin = 0; begin < changes.size();) {
    const double moment = changes[begin].time + kOneMoment * step_s;
    for (; begin < changes.size() && changes[begin].time <= moment; ++begin) {
      now += changes[begin].bytes;
    }
    peak = std::max(peak, now);
  }
  return peak;
}

}  // namespace lamina::pipeline
