#include "sim/pipeline/coarse_memory.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <numeric>
#include <utility>
#include <vector>

namespace lamina::pipeline {
namespace {

constexpr double kOneMoment = 1e-9;

struct Change {
  double time = 0;
  double bytes = 0;
};

/// Sorts by time what consists of a few sequences that are sorted already: starts and ends on the compute stream, and
/// on the others.
void merge_by_time(std::vector<Change>& changes) {
  const auto earlier = [](const Change& a, const Change& b) { return a.time < b.time; };
  std::vector<std::size_t> bounds = {0};
  while (bounds.back() < changes.size()) {
    const auto from = changes.begin() + static_cast<std::ptrdiff_t>(bounds.back());
    bounds.push_back(static_cast<std::size_t>(std::is_sorted_until(from, changes.end(), earlier) - changes.begin()));
  }
  std::vector<Change> merged(changes.size());
  while (bounds.size() > 2) {
    std::vector<std::size_t> next = {0};
    for (std::size_t i = 0; i + 1 < bounds.size(); i += 2) {
      const std::size_t middle = bounds[i + 1];
      const std::size_t end = i + 2 < bounds.size() ? bounds[i + 2] : middle;
      const auto at = [&](std::size_t position) { return changes.begin() + static_cast<std::ptrdiff_t>(position); };
      std::merge(at(bounds[i]), at(middle), at(middle), at(end),
                 merged.begin() + static_cast<std::ptrdiff_t>(bounds[i]), earlier);
      next.push_back(end);
    }
    bounds = std::move(next);
    changes.swap(merged);
  }
}

/// Effects by what they hang on: within each part the times ascend, but for the ends of operations that others wait
/// for.
std::vector<Change> changes_by_part(const graph::Program& program, const timeline::Span* spans) {
  const auto part_of = [&](const graph::MemoryEffect& effect) {
    return 2 * std::size_t{program.operations[effect.operation].stream} + (effect.at_end ? 1 : 0);
  };
  std::vector<std::size_t> position(2 * program.streams.size() + 1, 0);
  for (const graph::MemoryEffect& effect : program.memory_effects) {
    ++position[part_of(effect) + 1];
  }
  std::partial_sum(position.begin(), position.end(), position.begin());
  std::vector<Change> changes(program.memory_effects.size());
  for (const graph::MemoryEffect& effect : program.memory_effects) {
    const timeline::Span& span = spans[effect.operation];
    changes[position[part_of(effect)]++] = {effect.at_end ? span.end : span.start, effect.bytes};
  }
  return changes;
}

}  // namespace

double memory_peak(const graph::Program& program, const timeline::Span* spans, double step_s) {
  std::vector<Change> changes = changes_by_part(program, spans);
  merge_by_time(changes);
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
