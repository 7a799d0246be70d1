#include "sim/comparison/parts.hpp"

#include <algorithm>
#include <cstddef>

namespace lamina::comparison {

std::array<double, kParts> parts_of(const report::RoleTimes& times) {
  const auto exposed = [&times](graph::Traffic traffic) { return times.exposed_s[static_cast<std::size_t>(traffic)]; };
  return {times.compute_s,
          times.bubble_s,
          exposed(graph::Traffic::kPipeline),
          exposed(graph::Traffic::kReduce),
          exposed(graph::Traffic::kRestore),
          exposed(graph::Traffic::kTensor),
          exposed(graph::Traffic::kOffload),
          times.tail_s};
}

std::vector<Difference> differences(const report::Entry& better, const report::Entry& other, double other_scale) {
  const std::array<double, kParts> ours = parts_of(report::busiest_times(better));
  const std::array<double, kParts> theirs = parts_of(report::busiest_times(other));
  std::vector<Difference> result;
  for (std::size_t part = 0; part < kParts; ++part) {
    result.push_back({static_cast<Part>(part), ours[part], theirs[part] * other_scale});
  }
  std::stable_sort(result.begin(), result.end(),
                   [](const Difference& a, const Difference& b) { return a.gain_s() > b.gain_s(); });
  return result;
}

}  // namespace lamina::comparison
