#include <filesystem>
#include <string>
#include <utility>

#include "sim/report/json_values.hpp"
#include "sim/report/validation.hpp"

/// JSON of a prediction beside an execution.
namespace lamina::report {

namespace {

Json times_of(const RoleTimes& times) {
  return Json{{"compute_s", number(times.compute_s)},
              {"exposed_s", by_traffic(times.exposed_s)},
              {"bubble_s", number(times.bubble_s)},
              {"tail_s", number(times.tail_s)}};
}

}  // namespace

std::string to_json(const Validation& validation) {
  Json durations = Json::array();
  for (const DurationRow& row : validation.durations) {
    Json entry = Json{{"kind", row.kind},
                      {"bytes", number(row.bytes)},
                      {"operations", row.operations},
                      {"predicted_s", number(row.predicted_s)},
                      {"measured_s", number(row.measured_s)}};
    if (validation.scenario_s > 0) {
      entry["scenario_s"] = number(row.scenario_s);
    }
    durations.push_back(std::move(entry));
  }
  Json ranks = Json::array();
  for (const RankRow& row : validation.rank_rows) {
    ranks.push_back(Json{{"pipeline_rank", row.pipeline_rank},
                         {"predicted", times_of(row.predicted)},
                         {"measured", times_of(row.measured)}});
  }
  Json step{{"measured_s", number(validation.measured_s)},
            {"measured_least_s", number(validation.measured_least_s)},
            {"measured_most_s", number(validation.measured_most_s)},
            {"predicted_s", number(validation.predicted_s)},
            {"error", number(validation.error())},
            {"structural_s", number(validation.structural_s)},
            {"structural_error", number(validation.structural_error())},
            {"structural_worst", number(validation.structural_worst)}};
  if (validation.scenario_s > 0) {
    step["scenario_s"] = number(validation.scenario_s);
    step["scenario_error"] = number(validation.scenario_error());
  }
  Json whole{
      {"schema", "lamina.validation/1"},
      {"name", validation.name},
      {"file", std::filesystem::path(validation.file).filename().string()},
      {"backend", validation.backend},
      {"ranks", validation.ranks},
      {"repeats", validation.repeats},
      {"step", step},
      {"hidden_transfers",
       {{"predicted", number(validation.predicted_hidden)}, {"measured", number(validation.measured_hidden)}}},
      {"peak_memory_bytes",
       {{"predicted", number(validation.predicted_peak_bytes)}, {"measured", number(validation.measured_peak_bytes)}}},
      {"conditions", validation.conditions},
      {"calibration_spread", number(validation.calibration_spread)},
      {"involuntary_switches", validation.involuntary_switches},
      {"durations", durations},
      {"pipeline_ranks", ranks},
      {"reordered", validation.reordered},
      {"reorderings", validation.reorderings},
      {"warnings", validation.warnings}};
  if (validation.scenario_s > 0) {
    whole["calibration"] = validation.calibrated ? "measure" : "scenario";
  }
  return document(whole);
}

}  // namespace lamina::report
