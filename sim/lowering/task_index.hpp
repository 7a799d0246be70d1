#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lamina::lowering {

/// Which entries of a list belong to a task, by number of the task; kStepStart is one too.
class TaskIndex {
 public:
  TaskIndex() = default;

  /// `task_of` [entry]: its task; one that is not in [kStepStart, tasks): none.
  TaskIndex(std::size_t tasks, const std::vector<int>& task_of);

  /// Entries of a task, ascending.
  [[nodiscard]] std::span<const std::uint32_t> at(int task) const {
    if (entries_.empty()) {
      return {};
    }
    if (!tasks_.empty()) {
      return among_few(task);
    }
    const auto slot = static_cast<std::size_t>(task + 1);
    return std::span(entries_).subspan(first_[slot], first_[slot + 1] - first_[slot]);
  }

 private:
  [[nodiscard]] std::span<const std::uint32_t> among_few(int task) const;

  std::vector<std::uint32_t> first_;  ///< [task + 1] into entries_, and the end; empty when entries are few
  std::vector<std::uint32_t> entries_;
  std::vector<int> tasks_;  ///< [entry of entries_], ascending, when they are few
};

}  // namespace lamina::lowering
