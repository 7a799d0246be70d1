#pragma once

#include <vector>

#include "schedules/schedule.hpp"
#include "sim/scenario/scenario.hpp"

namespace lamina::explain {

/// Devices of the group of rank (data 0, pipeline 0, tensor 0) along one dimension, in rank order.
[[nodiscard]] std::vector<int> group_devices(const scenario::Strategy& strategy, scenario::Dimension dimension);

/// How a schedule cuts the model.
struct Cut {
  double layers_per_stage = 0;  ///< with the ends that count as layers; average, when they do not divide
  int stages_of_rank = 0;       ///< on pipeline rank 0
  bool looping = false;         ///< one chain of stages, stage s on rank s mod p
};

[[nodiscard]] Cut cut_of(const scenario::Scenario& scenario, const schedules::ScheduleTable& table);

}  // namespace lamina::explain
