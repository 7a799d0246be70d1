#include <cmath>
#include <string_view>

#include <fmt/format.h>

#include "sim/trace/write.hpp"

namespace lamina::trace {
namespace {

/// RFC 4180, section 2: fields with commas, quotes or line breaks stand in quotes, quotes are doubled.
std::string quoted(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) {
    return std::string(text);
  }
  std::string result = "\"";
  for (const char character : text) {
    result += character;
    if (character == '"') {
      result += '"';
    }
  }
  return result + '"';
}

/// Shortest text that reads back as the same double; not a number and infinite are empty fields.
std::string field(double value) {
  return std::isfinite(value) ? fmt::format("{}", value) : std::string();
}

}  // namespace

std::string to_csv(const std::vector<Comparison>& comparisons) {
  std::string text =
      "file,schedule,step,step_measured_s,step_replayed_s,step_relative_error,step_without_stragglers_s,"
      "step_balanced_s,replica,measured_s,replayed_s,relative_error,pipeline_rank,compute_s,measured_idle_s,"
      "measured_gap_s,replayed_idle_s,same_order\n";
  for (const Comparison& comparison : comparisons) {
    for (const StepComparison& step : comparison.steps) {
      const std::string of_step =
          fmt::format("{},{},{},{},{},{},{},{}", quoted(comparison.file), comparison.schedule, step.step,
                      field(step.measured_s), field(step.replayed_s), field(step.relative_error()),
                      field(step.without_stragglers_s), field(step.balanced_s));
      for (const ReplicaComparison& replica : step.replicas) {
        const std::string of_replica = fmt::format("{},{},{},{}", replica.replica, field(replica.measured_s),
                                                   field(replica.replayed_s), field(replica.relative_error()));
        for (std::size_t rank = 0; rank < replica.ranks.size(); ++rank) {
          const RankComparison& compared = replica.ranks[rank];
          text += fmt::format("{},{},{},{},{},{},{},{}\n", of_step, of_replica, rank, field(compared.compute_s),
                              field(compared.measured_idle_s), field(compared.measured_gap_s),
                              field(compared.replayed_idle_s), compared.same_order);
        }
      }
    }
  }
  return text;
}

}  // namespace lamina::trace
