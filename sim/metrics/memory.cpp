#include "sim/metrics/memory.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "sim/error/error.hpp"

namespace lamina::metrics {

namespace {

/// Moments closer than this share of the step are one: independent chains of operations reach the same moment with
/// different rounding, and a peak must not hang on that.
constexpr double kOneMoment = 1e-9;

constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;

struct Event {
  double time = 0;
  std::uint32_t effect = 0;
};

std::vector<Event> events_of(const Step& step, std::size_t rank) {
  const std::vector<graph::MemoryEffect>& effects = step.program(rank).memory_effects;
  std::vector<Event> events;
  events.reserve(effects.size());
  for (std::uint32_t index = 0; index < effects.size(); ++index) {
    const timeline::Span& span = step.span({rank, effects[index].operation});
    events.push_back({effects[index].at_end ? span.end : span.start, index});
  }
  std::sort(events.begin(), events.end(),
            [](const Event& a, const Event& b) { return a.time != b.time ? a.time < b.time : a.effect < b.effect; });
  return events;
}

double total_of(const std::array<double, graph::kMemoryCategories>& categories) {
  return std::accumulate(categories.begin(), categories.end(), 0.0);
}

/// Name of the compute operation that runs at `memory.peak_time_s`, otherwise of `largest`.
std::string name_of_peak(const Step& step, std::size_t rank, double time, std::int64_t largest, int layers) {
  const graph::Program& program = step.program(rank);
  const double moment = time + kOneMoment * step.time();
  for (std::uint32_t operation = 0; operation < program.operations.size(); ++operation) {
    const timeline::Span& span = step.span({rank, operation});
    if (span.start <= moment && span.end > moment &&
        program.operations[operation].kind == graph::OperationKind::kCompute) {
      return short_name(program.operations[operation], layers);
    }
  }
  return largest < 0 ? "start of the step" : short_name(program.operations[static_cast<std::size_t>(largest)], layers);
}

void check_end(const std::array<double, graph::kMemoryCategories>& now, const graph::Program& program, std::size_t rank,
               int pipeline_rank, double peak) {
  const double tolerance = 1.0 + 1e-9 * peak;  // sums of a million effects round
  for (std::size_t category = 0; category < now.size(); ++category) {
    const double left = now[category] - program.initial_memory[category];
    if (std::abs(left) > tolerance) {
      throw error::InternalError(fmt::format(
          "memory of rank {} (pipeline rank {}) does not return to its initial value: {} differ by {} bytes", rank,
          pipeline_rank, graph::name_of(static_cast<graph::MemoryCategory>(category)), left));
    }
  }
}

report::Memory memory_of_rank(const Step& step, std::size_t rank, int layers) {
  const graph::Program& program = step.program(rank);
  std::array<double, graph::kMemoryCategories> now{};
  std::copy(std::begin(program.initial_memory), std::end(program.initial_memory), now.begin());
  report::Memory memory;
  memory.breakdown_bytes = now;
  memory.peak_bytes = total_of(now);
  std::int64_t peak_operation = -1;

  const std::vector<Event> events = events_of(step, rank);
  for (std::size_t begin = 0; begin < events.size();) {
    const double time = events[begin].time;
    double largest = 0;
    std::int64_t largest_operation = -1;
    std::size_t end = begin;
    for (; end < events.size() && events[end].time <= time + kOneMoment * step.time(); ++end) {
      const graph::MemoryEffect& effect = program.memory_effects[events[end].effect];
      now[static_cast<std::size_t>(effect.category)] += effect.bytes;
      if (effect.bytes > largest) {
        largest = effect.bytes;
        largest_operation = effect.operation;
      }
    }
    begin = end;
    const double total = total_of(now);
    if (total > memory.peak_bytes * (1 + 1e-12)) {  // rounding does not move the peak to a later, equal one
      memory.peak_bytes = total;
      memory.peak_time_s = time;
      memory.breakdown_bytes = now;
      peak_operation = largest_operation;
    }
  }
  check_end(now, program, rank, step.deployment().ranks[rank].program, memory.peak_bytes);
  for (double& bytes : memory.breakdown_bytes) {
    bytes = std::max(0.0, bytes);
  }
  memory.peak_operation = name_of_peak(step, rank, memory.peak_time_s, peak_operation, layers);
  return memory;
}

}  // namespace

std::vector<report::Memory> memory_of_ranks(const Step& step, int layers) {
  std::vector<report::Memory> result;
  result.reserve(step.ranks());
  for (std::size_t rank = 0; rank < step.ranks(); ++rank) {
    result.push_back(memory_of_rank(step, rank, layers));
  }
  return result;
}

std::string why_not_fit(const report::Memory& memory, double capacity_bytes, int pipeline_rank,
                        const std::string& accelerator) {
  if (memory.peak_bytes <= capacity_bytes) {
    return "";
  }
  const auto biggest = std::max_element(memory.breakdown_bytes.begin(), memory.breakdown_bytes.end());
  const auto category = static_cast<graph::MemoryCategory>(biggest - memory.breakdown_bytes.begin());
  return fmt::format(
      "Pipeline rank {} needs {:.2f} GiB at its peak ({}), but {} has {:.2f} GiB; the biggest part is {} ({:.2f} GiB).",
      pipeline_rank, memory.peak_bytes / kGiB, memory.peak_operation,
      accelerator.empty() ? "the accelerator" : accelerator, capacity_bytes / kGiB, graph::name_of(category),
      *biggest / kGiB);
}

}  // namespace lamina::metrics
