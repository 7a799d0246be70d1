#include "schedules/controllable_memory.hpp"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <tuple>

namespace lamina::schedules {
namespace {

constexpr int kPeriod = 6;  // slots: F, I and W of two chunks
constexpr int kFree = -1;
constexpr std::size_t kPasses = 4;
constexpr std::size_t kWeight = 4;  // weight gradients of a rank, in the order of its input gradients

/// The passes of one rank: by kind (the four of BuildingBlock, then kWeight) and index, and by slot.
struct Plan {
  std::array<std::vector<int>, kPasses + 1> slots;
  std::vector<int> kind_at;

  void put(std::size_t kind, std::size_t index, int slot) {
    const auto at = static_cast<std::size_t>(slot);
    kind_at.resize(std::max(kind_at.size(), at + 1), kFree);
    kind_at[at] = static_cast<int>(kind);
    slots[kind].resize(std::max(slots[kind].size(), index + 1));
    slots[kind][index] = slot;
  }

  void move(std::size_t kind, std::size_t index, int slot) {
    kind_at[static_cast<std::size_t>(slots[kind][index])] = kFree;
    put(kind, index, slot);
  }
};

struct Pass {
  int slot = 0;
  std::size_t rank = 0;
  std::size_t kind = 0;
  std::size_t index = 0;
};

bool is_input_gradient(int kind) {
  return kind == 2 || kind == 3;
}

std::vector<Pass> in_slot_order(const std::vector<Plan>& plans) {
  std::vector<Pass> passes;
  for (std::size_t rank = 0; rank < plans.size(); ++rank) {
    for (std::size_t kind = 0; kind <= kWeight; ++kind) {
      const std::vector<int>& slots = plans[rank].slots[kind];
      for (std::size_t index = 0; index < slots.size(); ++index) {
        passes.push_back({slots[index], rank, kind, index});
      }
    }
  }
  std::sort(passes.begin(), passes.end(), [](const Pass& a, const Pass& b) {
    return std::tie(a.slot, a.rank, a.kind, a.index) < std::tie(b.slot, b.rank, b.kind, b.index);
  });
  return passes;
}

/// Most activations that a rank holds. Without weight gradients in the plan, each takes the next free slot.
int peak_activations(const Plan& plan) {
  const bool placed = !plan.slots[kWeight].empty();
  int alive = 0;
  int deferred = 0;
  int peak = 0;
  for (const int kind : plan.kind_at) {
    if (kind == 0 || kind == 1) {
      peak = std::max(peak, ++alive);
    } else if (kind == static_cast<int>(kWeight)) {
      --alive;
    } else if (is_input_gradient(kind)) {
      deferred += placed ? 0 : 1;
    } else if (kind == kFree && deferred > 0) {
      --deferred;
      --alive;
    }
  }
  return peak;
}

/// Puts the weight gradients into the free slots, first come first served.
void place_weight_gradients(Plan& plan) {
  std::size_t due = 0;
  std::size_t done = 0;
  const int end = static_cast<int>(plan.kind_at.size());
  for (int slot = 0; slot < end || done < due; ++slot) {
    const int kind = slot < end ? plan.kind_at[static_cast<std::size_t>(slot)] : kFree;
    if (is_input_gradient(kind)) {
      ++due;
    } else if (kind == kFree && done < due) {
      plan.put(kWeight, done++, slot);
    }
  }
}

void drop_weight_gradients(Plan& plan) {
  plan.slots[kWeight].clear();
  std::replace(plan.kind_at.begin(), plan.kind_at.end(), static_cast<int>(kWeight), kFree);
}

/// The slot of the pass that this one takes its input from, or -1.
int source_slot(const std::vector<Plan>& plans, const Pass& pass) {
  const Plan& own = plans[pass.rank];
  if (pass.kind == kWeight) {
    std::size_t left = pass.index;
    for (std::size_t slot = 0; slot < own.kind_at.size(); ++slot) {
      if (is_input_gradient(own.kind_at[slot]) && left-- == 0) {
        return static_cast<int>(slot);
      }
    }
  }
  // Kinds 0 and 2 travel from rank 0 on, 1 and 3 towards it; where they turn, the input is the rank's own.
  const bool from_below = pass.kind == 0 || pass.kind == 2;
  const bool turns = pass.rank == (from_below ? 0 : plans.size() - 1);
  if (turns) {
    return pass.kind == 0 ? -1 : own.slots[pass.kind - 1][pass.index];
  }
  return plans[from_below ? pass.rank - 1 : pass.rank + 1].slots[pass.kind][pass.index];
}

/// First slot in which the pass could run: after its input and after its predecessor of the same kind.
int earliest_slot(const std::vector<Plan>& plans, const Pass& pass) {
  const int before = pass.index > 0 ? plans[pass.rank].slots[pass.kind][pass.index - 1] : -1;
  return std::max(source_slot(plans, pass), before) + 1;
}

/// Moves a pass to its earliest free slot that does not raise the rank's peak beyond `limit`.
void advance(const Pass& pass, int limit, std::vector<Plan>& plans) {
  Plan& plan = plans[pass.rank];
  for (int slot = earliest_slot(plans, pass); slot < pass.slot; ++slot) {
    if (plan.kind_at[static_cast<std::size_t>(slot)] != kFree) {
      continue;
    }
    plan.move(pass.kind, pass.index, slot);
    if (peak_activations(plan) <= limit) {
      return;
    }
    plan.move(pass.kind, pass.index, pass.slot);
  }
}

/// Advances the passes of the ramp down, and of the ramp up if asked. The steady state lies between rank 0's first
/// input gradient of chunk 0 and the last forward of chunk 0.
void squeeze(bool ramp_up, std::vector<Plan>& plans) {
  int limit = 0;
  for (const Plan& plan : plans) {
    limit = std::max(limit, peak_activations(plan));
  }
  const std::size_t last = plans[0].slots[0].size() - 1;
  bool steady = false;
  bool draining = false;
  for (const Pass& pass : in_slot_order(plans)) {
    steady = steady || (pass.kind == 3 && pass.rank == 0);
    if (steady && !draining) {
      draining = pass.kind == 0 && pass.index == last;
    } else if (draining || ramp_up) {
      advance(pass, limit, plans);
    }
  }
}

/// Runs every rank's passes in their order as soon as their inputs are there.
void compact(std::vector<Plan>& plans) {
  std::vector<Plan> result(plans.size());
  for (const Pass& pass : in_slot_order(plans)) {
    Plan& plan = result[pass.rank];
    const int free_from = static_cast<int>(plan.kind_at.size());
    const int slot = pass.kind == kWeight ? free_from : std::max(free_from, source_slot(result, pass) + 1);
    plan.put(pass.kind, pass.index, slot);
  }
  plans = std::move(result);
}

/// The rank's row: passes in slot order, weight gradients in the free slots, chunk 1's first.
void write_row(const Plan& plan, int rank, ScheduleTable& table) {
  const std::array<int, 2> stages = {rank, 2 * static_cast<int>(table.actions.size()) - 1 - rank};
  std::array<int, kPasses> next{};
  std::array<std::deque<Action>, 2> deferred;  // by chunk
  std::vector<Action>& row = table.actions[static_cast<std::size_t>(rank)];
  const auto write_deferred = [&row, &deferred] {
    for (const std::size_t chunk : {1U, 0U}) {
      if (!deferred[chunk].empty()) {
        row.push_back(deferred[chunk].front());
        deferred[chunk].pop_front();
        return;
      }
    }
  };
  for (const int kind : plan.kind_at) {
    if (kind == kFree) {
      write_deferred();
      continue;
    }
    const std::size_t chunk = kind == 1 || kind == 2 ? 1 : 0;
    const ActionType type = is_input_gradient(kind) ? ActionType::kInputGradient : ActionType::kForward;
    row.push_back({type, stages[chunk], next[static_cast<std::size_t>(kind)]++});
    if (is_input_gradient(kind)) {
      deferred[chunk].push_back({ActionType::kWeightGradient, stages[chunk], row.back().micro_batch});
    }
  }
  while (!deferred[0].empty() || !deferred[1].empty()) {
    write_deferred();
  }
}

}  // namespace

void write_from_building_blocks(const std::vector<BuildingBlock>& blocks, ScheduleTable& table) {
  std::vector<Plan> plans(blocks.size());
  for (std::size_t rank = 0; rank < blocks.size(); ++rank) {
    for (std::size_t kind = 0; kind < kPasses; ++kind) {
      for (int index = 0; index < table.micro_batches; ++index) {
        plans[rank].put(kind, static_cast<std::size_t>(index), blocks[rank][kind] + kPeriod * index);
      }
    }
    place_weight_gradients(plans[rank]);
  }
  squeeze(true, plans);
  compact(plans);
  for (Plan& plan : plans) {
    drop_weight_gradients(plan);
  }
  squeeze(false, plans);
  for (Plan& plan : plans) {
    place_weight_gradients(plan);
  }
  compact(plans);
  for (std::size_t rank = 0; rank < plans.size(); ++rank) {
    drop_weight_gradients(plans[rank]);
    write_row(plans[rank], static_cast<int>(rank), table);
  }
}

}  // namespace lamina::schedules
