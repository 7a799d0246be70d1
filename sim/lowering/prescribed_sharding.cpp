#include <algorithm>
#include <map>
#include <set>

#include "sim/lowering/sharding.hpp"

namespace lamina::lowering {
namespace {

using schedules::LoweredType;

/// Tasks of one role by action and by unit.
class Prescription {
 public:
  Prescription(const RoleTasks& role, const CommunicationGaps& gaps) : role_(role), gaps_(gaps) {
    for (int task = 0; task < count(); ++task) {
      if (role.tasks[static_cast<std::size_t>(task)].first_of_action) {
        first_task_.push_back(task);
      }
    }
    first_task_.push_back(count());
  }

  /// Residencies of the stages' units between UNSHARD and RESHARD.
  [[nodiscard]] std::vector<Restore> restores(bool prefetch) const {
    std::map<int, int> resident;  // stage -> task after which it was restored
    std::vector<Restore> result;
    for (std::size_t gap = 0; gap < gaps_.size(); ++gap) {
      const int before = first_task_.at(gap) - 1;
      for (const schedules::LoweredAction& action : gaps_[gap]) {
        if (action.type == LoweredType::kUnshard) {
          resident.try_emplace(action.stage, before);
        } else if (action.type == LoweredType::kReshard && resident.contains(action.stage)) {
          add_restores(action.stage, resident.at(action.stage), before, prefetch, result);
          resident.erase(action.stage);
        }
      }
    }
    for (const auto& [stage, since] : resident) {
      add_restores(stage, since, count() - 1, prefetch, result);
    }
    add_unmentioned(prefetch, result);
    std::stable_sort(result.begin(), result.end(),
                     [](const Restore& a, const Restore& b) { return a.first_task < b.first_task; });
    return result;
  }

  /// One reduction per unit: where its stage has REDUCE_GRAD, else after its last gradient.
  [[nodiscard]] std::vector<Reduce> reduces() const {
    std::map<int, int> reduced_after;
    for (std::size_t gap = 0; gap < gaps_.size(); ++gap) {
      for (const schedules::LoweredAction& action : gaps_[gap]) {
        if (action.type == LoweredType::kReduceGradients) {
          reduced_after[action.stage] = first_task_.at(gap) - 1;
        }
      }
    }
    std::vector<int> first(role_.units.size(), -1);
    std::vector<int> last(role_.units.size(), -1);
    for (int task = 0; task < count(); ++task) {
      const Task& at = role_.tasks[static_cast<std::size_t>(task)];
      if (makes_gradients(at.type)) {
        int& begin = first[static_cast<std::size_t>(at.unit)];
        begin = begin < 0 ? task : begin;
        last[static_cast<std::size_t>(at.unit)] = task;
      }
    }
    std::vector<Reduce> result;
    for (std::size_t unit = 0; unit < role_.units.size(); ++unit) {
      if (first[unit] >= 0) {
        const auto found = reduced_after.find(role_.units[unit].stage);
        const int after = std::max(last[unit], found == reduced_after.end() ? 0 : found->second);
        result.push_back({static_cast<int>(unit), after, first[unit], -1, true});
      }
    }
    std::stable_sort(result.begin(), result.end(), [](const Reduce& a, const Reduce& b) { return a.after < b.after; });
    return result;
  }

 private:
  [[nodiscard]] int count() const { return static_cast<int>(role_.tasks.size()); }

  /// One restore for each unit of the stage that is used while it is resident.
  void add_restores(int stage, int since, int until, bool prefetch, std::vector<Restore>& result) const {
    std::map<int, int> first_use;
    for (int task = since + 1; task <= until; ++task) {
      const Task& at = role_.tasks[static_cast<std::size_t>(task)];
      if (at.stage == stage) {
        first_use.try_emplace(at.unit, task);
      }
    }
    for (const auto& [unit, first] : first_use) {
      result.push_back({unit, prefetch ? since : first - 1, since, first, until});
    }
  }

  void add_unmentioned(bool prefetch, std::vector<Restore>& result) const {
    std::set<int> stages;
    for (const Unit& unit : role_.units) {
      stages.insert(unit.stage);
    }
    for (const Restore& restore : result) {
      stages.erase(role_.units[static_cast<std::size_t>(restore.unit)].stage);
    }
    for (const int stage : stages) {
      add_restores(stage, kStepStart, count() - 1, prefetch, result);
    }
  }

  const RoleTasks& role_;
  const CommunicationGaps& gaps_;
  std::vector<int> first_task_;  ///< by action; their number: past the last task
};

}  // namespace

DataParallelPlan plan_as_prescribed(const RoleTasks& role, const scenario::Sharding& sharding,
                                    const CommunicationGaps& gaps) {
  const Prescription prescription(role, gaps);
  DataParallelPlan plan;
  if (sharding.level == scenario::ShardingLevel::kFull) {
    plan.restores = prescription.restores(sharding.prefetch);
  } else {
    plan.restores = plan_data_parallel(role, sharding).restores;
  }
  plan.reduces = prescription.reduces();
  return plan;
}

}  // namespace lamina::lowering
