#pragma once

#include <vector>

#include "schedules/schedule.hpp"
#include "sim/scenario/scenario.hpp"
#include "validate/numeric/decoder.hpp"

namespace lamina::validate::numeric {

/// What all ranks know.
struct World {
  scenario::Strategy strategy;
  schedules::ScheduleTable table;
  Shape shape;
  int sequences_per_micro_batch = 1;
  std::vector<int> copy_of;  ///< [stage] the copy of the model that its chain of stages is
  /// [stage] the micro-batch of the replica that the stage's micro-batch 0 is: copies may each count from 0.
  std::vector<int> first_micro_batch;

  [[nodiscard]] int tokens() const { return sequences_per_micro_batch * shape.sequence; }

  [[nodiscard]] double tokens_per_step() const { return static_cast<double>(strategy.global_batch()) * shape.sequence; }

  [[nodiscard]] int copies() const;
};

[[nodiscard]] World make_world(const scenario::Scenario& scenario, const schedules::ScheduleTable& table,
                               const Shape& shape);

}  // namespace lamina::validate::numeric
