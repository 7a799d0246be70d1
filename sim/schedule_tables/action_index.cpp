#include "sim/schedule_tables/action_index.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace lamina::schedule_tables {

ActionIndex::ActionIndex(const schedules::ScheduleTable& table) : first_(table.stages.size() + 1, 0) {
  for (const std::vector<schedules::Action>& row : table.actions) {
    for (const schedules::Action& action : row) {
      ++first_[static_cast<std::size_t>(action.stage) + 1];
    }
  }
  std::partial_sum(first_.begin(), first_.end(), first_.begin());
  entries_.resize(first_.back());
  std::vector<std::size_t> end(first_.begin(), first_.end() - 1);
  for (const std::vector<schedules::Action>& row : table.actions) {
    for (std::size_t position = 0; position < row.size(); ++position) {
      const schedules::Action& action = row[position];
      entries_[end[static_cast<std::size_t>(action.stage)]++] = {action.micro_batch, action.type, position};
    }
  }
  const auto by_micro_batch = [](const IndexedAction& a, const IndexedAction& b) {
    return std::tie(a.micro_batch, a.type, a.position) < std::tie(b.micro_batch, b.type, b.position);
  };
  const auto at = [this](std::size_t index) { return entries_.begin() + static_cast<std::ptrdiff_t>(index); };
  for (std::size_t stage = 0; stage + 1 < first_.size(); ++stage) {
    std::sort(at(first_[stage]), at(first_[stage + 1]), by_micro_batch);
  }
}

}  // namespace lamina::schedule_tables
