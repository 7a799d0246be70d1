#include "validate/numeric/world.hpp"

#include <algorithm>
#include <cstddef>

namespace lamina::validate::numeric {
namespace {

/// Micro-batches of a stage: how many, and the largest number.
struct MicroBatches {
  int count = 0;
  int last = -1;
};

MicroBatches micro_batches_of(const schedules::ScheduleTable& table, int stage) {
  MicroBatches result;
  for (const schedules::Action& action :
       table.actions[static_cast<std::size_t>(table.stages[static_cast<std::size_t>(stage)].rank)]) {
    if (action.stage == stage && action.type == schedules::ActionType::kForward) {
      ++result.count;
      result.last = std::max(result.last, action.micro_batch);
    }
  }
  return result;
}

}  // namespace

int World::copies() const {
  return *std::max_element(copy_of.begin(), copy_of.end()) + 1;
}

World make_world(const scenario::Scenario& scenario, const schedules::ScheduleTable& table, const Shape& shape) {
  World world{scenario.strategy, table, shape, static_cast<int>(scenario.strategy.micro_batch_size), {}, {}};
  world.copy_of.resize(table.stages.size(), -1);
  world.first_micro_batch.resize(table.stages.size(), 0);
  int copies = 0;
  int earlier = 0;
  for (std::size_t first = 0; first < table.stages.size(); ++first) {
    if (table.stages[first].previous != -1) {
      continue;
    }
    const MicroBatches own = micro_batches_of(table, static_cast<int>(first));
    const bool counts_from_zero = own.last < own.count;
    for (int stage = static_cast<int>(first); stage != -1; stage = table.stages[static_cast<std::size_t>(stage)].next) {
      world.copy_of[static_cast<std::size_t>(stage)] = copies;
      world.first_micro_batch[static_cast<std::size_t>(stage)] = counts_from_zero ? earlier : 0;
    }
    ++copies;
    earlier += own.count;
  }
  return world;
}

}  // namespace lamina::validate::numeric
