#include "sim/lowering/task_index.hpp"

#include <algorithm>
#include <numeric>

#include "sim/lowering/sharding.hpp"

namespace lamina::lowering {
namespace {

/// Up to here a search is quicker than an array with a number for every task.
constexpr std::size_t kFewOf = 16;

}  // namespace

TaskIndex::TaskIndex(std::size_t tasks, const std::vector<int>& task_of) {
  const auto known = [&](int task) { return task >= kStepStart && task < static_cast<int>(tasks); };
  if (task_of.size() < tasks / kFewOf) {
    for (std::uint32_t entry = 0; entry < task_of.size(); ++entry) {
      if (known(task_of[entry])) {
        entries_.push_back(entry);
      }
    }
    std::stable_sort(entries_.begin(), entries_.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return task_of[a] < task_of[b]; });
    for (const std::uint32_t entry : entries_) {
      tasks_.push_back(task_of[entry]);
    }
    return;
  }
  if (task_of.empty()) {
    return;
  }
  first_.assign(tasks + 2, 0);
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

std::span<const std::uint32_t> TaskIndex::among_few(int task) const {
  const auto [first, last] = std::equal_range(tasks_.begin(), tasks_.end(), task);
  return std::span(entries_).subspan(static_cast<std::size_t>(first - tasks_.begin()),
                                     static_cast<std::size_t>(last - first));
}

}  // namespace lamina::lowering
