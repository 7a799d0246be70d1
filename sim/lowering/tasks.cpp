#include "sim/lowering/tasks.hpp"

#include <map>

#include "sim/lowering/partition.hpp"

namespace lamina::lowering {
namespace {

using schedules::ActionType;

/// Layers of a model chunk, the embedding in front of the first and the head behind the last.
std::vector<Unit> units_of_stage(const scenario::Strategy& strategy, const schedules::ScheduleTable& table, int stage,
                                 const model::WorkModel& work) {
  const int chunk = table.stages[static_cast<std::size_t>(stage)].model_chunk;
  const LayerRange layers = layers_of_chunk(strategy, work.layers, table.model_chunks, chunk);
  std::vector<Unit> units;
  if (chunk == 0 && !work.embedding.blocks.empty()) {
    units.push_back({stage, -1, &work.embedding});
  }
  for (int layer = layers.first; layer < layers.end; ++layer) {
    units.push_back({stage, layer, &work.layer});
  }
  if (chunk == table.model_chunks - 1 && !work.head.blocks.empty()) {
    units.push_back({stage, work.layers, &work.head});
  }
  return units;
}

}  // namespace

RoleTasks tasks_of(const scenario::Strategy& strategy, const schedules::ScheduleTable& table, int rank,
                   const model::WorkModel& work) {
  RoleTasks result;
  std::map<int, std::pair<int, int>> range_of_stage;
  for (int stage = 0; stage < static_cast<int>(table.stages.size()); ++stage) {
    if (table.stages[static_cast<std::size_t>(stage)].rank == rank) {
      const int first = static_cast<int>(result.units.size());
      for (const Unit& unit : units_of_stage(strategy, table, stage, work)) {
        result.units.push_back(unit);
      }
      range_of_stage[stage] = {first, static_cast<int>(result.units.size())};
    }
  }
  std::size_t count = 0;
  for (const schedules::Action& action : table.actions[static_cast<std::size_t>(rank)]) {
    const auto [first, end] = range_of_stage.at(action.stage);
    count += static_cast<std::size_t>(end - first);
  }
  result.tasks.reserve(count);
  for (const schedules::Action& action : table.actions[static_cast<std::size_t>(rank)]) {
    const auto [first, end] = range_of_stage.at(action.stage);
    const bool ascending = action.type == ActionType::kForward;
    for (int i = 0; i < end - first; ++i) {
      const int unit = ascending ? first + i : end - 1 - i;
      result.tasks.push_back({action.type, action.stage, action.micro_batch, unit, i == 0, i == end - first - 1});
    }
  }
  return result;
}

}  // namespace lamina::lowering
