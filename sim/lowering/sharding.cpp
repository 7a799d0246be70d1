#include "sim/lowering/sharding.hpp"

#include <algorithm>

namespace lamina::lowering {
namespace {

/// A run of tasks during which a buffer holds one unit.
struct Residency {
  int unit = 0;
  int first_task = 0;
  int last_task = 0;
  int buffer = 0;
};

/// Residencies in order of their first task: a unit stays until another unit takes its buffer.
template <class Uses>
std::vector<Residency> residencies(const RoleTasks& role, int buffers, Uses uses) {
  const int count = std::min(buffers, static_cast<int>(role.units.size()));
  std::vector<int> holder(static_cast<std::size_t>(count), -1);  // index into result
  std::vector<int> buffer_of(role.units.size());
  for (int unit = 0; unit < static_cast<int>(role.units.size()); ++unit) {
    buffer_of[static_cast<std::size_t>(unit)] = unit % count;
  }
  std::vector<Residency> result;
  for (int i = 0; i < static_cast<int>(role.tasks.size()); ++i) {
    const Task& task = role.tasks[static_cast<std::size_t>(i)];
    if (!uses(task.type)) {
      continue;
    }
    const int buffer = buffer_of[static_cast<std::size_t>(task.unit)];
    int& held = holder[static_cast<std::size_t>(buffer)];
    if (held < 0 || result[static_cast<std::size_t>(held)].unit != task.unit) {
      held = static_cast<int>(result.size());
      result.push_back({task.unit, i, i, buffer});
    }
    result[static_cast<std::size_t>(held)].last_task = i;
  }
  return result;
}

std::vector<Restore> plan_restores(const RoleTasks& role, const scenario::Sharding& sharding) {
  std::vector<Restore> restores;
  std::vector<int> previous(static_cast<std::size_t>(sharding.weight_buffers), kStepStart);
  for (const Residency& residency :
       residencies(role, sharding.weight_buffers, [](auto type) { return needs_weights(type); })) {
    int& former = previous[static_cast<std::size_t>(residency.buffer)];
    const int issue = sharding.prefetch ? former : residency.first_task - 1;
    restores.push_back({residency.unit, issue, former, residency.first_task, residency.last_task});
    former = residency.last_task;
  }
  return restores;
}

/// One reduction per residency; all units resident: one per unit.
std::vector<Reduce> plan_reduces(const RoleTasks& role, int buffers) {
  const std::vector<Residency> runs = residencies(role, buffers, [](auto type) { return makes_gradients(type); });
  std::vector<Reduce> reduces;
  std::vector<int> holder(static_cast<std::size_t>(std::max(buffers, 1)), -1);
  std::vector<int> last_of_unit(role.units.size(), -1);
  for (const Residency& run : runs) {
    int& former = holder[static_cast<std::size_t>(run.buffer)];
    if (former >= 0) {
      reduces[static_cast<std::size_t>(former)].blocks = run.first_task;
    }
    former = static_cast<int>(reduces.size());
    int& earlier = last_of_unit[static_cast<std::size_t>(run.unit)];
    if (earlier >= 0) {
      reduces[static_cast<std::size_t>(earlier)].is_last = false;
    }
    earlier = former;
    reduces.push_back({run.unit, run.last_task, run.first_task, -1, true});
  }
  std::stable_sort(reduces.begin(), reduces.end(), [](const Reduce& a, const Reduce& b) { return a.after < b.after; });
  return reduces;
}

}  // namespace

DataParallelPlan plan_data_parallel(const RoleTasks& role, const scenario::Sharding& sharding) {
  using scenario::ShardingLevel;
  DataParallelPlan plan;
  const int units = static_cast<int>(role.units.size());
  if (sharding.level == ShardingLevel::kFull) {
    plan.restores = plan_restores(role, sharding);
  } else if (sharding.level != ShardingLevel::kNone) {
    // ZeRO-1 and 2: weights stay, but each step's update made them in shards; one all-gather each, before the first
    // use.
    scenario::Sharding all_resident = sharding;
    all_resident.weight_buffers = units;
    plan.restores = plan_restores(role, all_resident);
  }
  const bool whole_gradients = sharding.level == ShardingLevel::kNone || sharding.level == ShardingLevel::kOptimizer;
  plan.reduces = plan_reduces(role, whole_gradients ? units : sharding.gradient_buffers);
  return plan;
}

}  // namespace lamina::lowering
