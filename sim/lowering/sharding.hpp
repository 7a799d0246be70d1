#pragma once

#include <vector>

#include "sim/lowering/communication_gaps.hpp"
#include "sim/lowering/tasks.hpp"
#include "sim/scenario/scenario.hpp"

namespace lamina::lowering {

inline constexpr int kStepStart = -1;  ///< "after task -1"

/// An all-gather of a unit's weights and the tasks that use them.
struct Restore {
  int unit = 0;
  int issue_after = kStepStart;  ///< task after which it is issued
  int waits_for = kStepStart;    ///< last task that used the buffer's former content; kStepStart: nothing
  int first_task = 0;
  int last_task = 0;
};

/// A reduction of a unit's gradients.
struct Reduce {
  int unit = 0;
  int after = 0;        ///< task that completes the gradients
  int first_task = 0;   ///< first task that accumulates into this content of the buffer
  int blocks = -1;      ///< first task that needs the gradient buffer for another unit; -1: none
  bool is_last = true;  ///< no later task adds to this unit's gradients
};

struct DataParallelPlan {
  std::vector<Restore> restores;  ///< by first_task
  std::vector<Reduce> reduces;    ///< by after
};

/// Where restores and reductions sit, by the rule of Fast-LLM (docs/model.md): units take the weight and gradient
/// buffers round robin; a restore is issued as soon as its buffer's former content is used up, a reduction before the
/// buffer is handed over or after the unit's last gradient.
[[nodiscard]] DataParallelPlan plan_data_parallel(const RoleTasks& role, const scenario::Sharding& sharding);

/// The same as a lowered row prescribes it: under full sharding the units of a stage are restored at its UNSHARD, once
/// the compute before it is done, and dropped at its RESHARD; gradients are reduced at REDUCE_GRAD. Stages that the row
/// does not mention stay resident from the start, and are reduced after their last gradient.
[[nodiscard]] DataParallelPlan plan_as_prescribed(const RoleTasks& role, const scenario::Sharding& sharding,
                                                  const CommunicationGaps& gaps);

}  // namespace lamina::lowering
