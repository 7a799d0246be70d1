#include "sim/lowering/task_index.hpp"

#include <numeric>

#include "sim/lowering/sharding.hpp"

namespace lamina::lowering {

TaskIndex::TaskIndex(std::size_t tasks, const std::vector<int>& task_of) {
  if (task_of.empty()) {
    return;
  }
  first_.assign(tasks + 2, 0);
  const auto known = [&](int task) { return task >= kStepStart && task < static_cast<int>(tasks); };
  for (const int task : task_of) {
    if (known(task)) {
      ++first_[static_cast<std::size_t>(task + 2)];
    }
  }
  std::partial_sum(first_.begin(), first_.end(), first_.begin());
  entries_.resize(first_.back());
  std::vector<std::uint32_t> position(first_.begin(), first_.end() - 1);
  for (std::uint32_t entry = 0; entry < task_of.size(); ++entry) {
    if (known(task_of[entry])) {
      entries_[position[static_cast<std::size_t>(task_of[entry] + 1)]++] = entry;
    }
  }
}

}  // namespace lamina::lowering
