#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "schedules/schedule.hpp"
#include "sim/draw/chart.hpp"

namespace lamina::draw::testing {

/// Parameters as a scenario has them that names none.
inline catalog::Parameters default_parameters(const catalog::PluginInfo& info) {
  catalog::Parameters parameters;
  for (const catalog::ParameterSpec& spec : info.parameters) {
    if (spec.kind == catalog::ParameterKind::kChoice) {
      parameters.set_choice(spec.name, spec.default_value);
    } else if (spec.kind == catalog::ParameterKind::kBoolean) {
      parameters.set_number(spec.name, spec.default_value == "true" ? 1 : 0);
    } else {
      parameters.set_number(spec.name, std::stod(spec.default_value));
    }
  }
  return parameters;
}

inline schedules::ScheduleTable table_of(const std::string& schedule, int ranks, int micro_batches, int layers) {
  const auto catalog = schedules::builtin_schedules();
  const auto* entry = catalog.find(schedule);
  const auto table = entry->implementation->table({.pipeline_parallel = ranks,
                                                   .micro_batches = micro_batches,
                                                   .layers = layers,
                                                   .parameters = default_parameters(entry->info),
                                                   .times = {}});
  if (!table) {
    throw std::runtime_error(table.error().reason);
  }
  return *table;
}

inline std::vector<std::string> schedule_names() {
  std::vector<std::string> names;
  for (const auto& schedule : schedules::builtin_schedules().infos()) {
    names.push_back(schedule.name);
  }
  return names;
}

/// Ranks that a schedule is drawn on: `accumulate` has no pipeline.
inline int ranks_for(const std::string& schedule, int ranks) {
  return schedule == "accumulate" ? 1 : ranks;
}

/// The compute lane of a row.
inline const std::vector<Box>& boxes(const Chart& chart, std::size_t row) {
  return chart.rows.at(row).lanes.front().boxes;
}

/// Boxes come in order and do not overlap, but for the halves of a pair, which have the same times.
inline bool are_apart(const Lane& lane) {
  double end = 0;
  double pair_start = -1;
  for (const Box& box : lane.boxes) {
    const bool fits = box.part == Part::kLower ? box.start == pair_start && box.end == end
                                               : box.start >= end - 1e-9 && box.end > box.start;
    if (!fits) {
      return false;
    }
    pair_start = box.part == Part::kUpper ? box.start : -1;
    end = box.end;
  }
  return true;
}

}  // namespace lamina::draw::testing
