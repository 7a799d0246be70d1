#include "sim/schedule_tables/add_residency.hpp"

#include <algorithm>
#include <iterator>
#include <limits>

#include "sim/schedule_tables/lowered_table.hpp"

namespace lamina::schedule_tables {
namespace {

using schedules::Action;
using schedules::LoweredAction;
using schedules::LoweredType;

constexpr std::size_t kNever = std::numeric_limits<std::size_t>::max();

bool are_one_pair(const std::vector<Action>& actions, std::size_t first, std::size_t second) {
  return second == first + 1 && actions[first].paired_with_next;
}

}  // namespace

ResidencyPass::ResidencyPass(std::size_t stages, std::size_t limit)
    : limit_(limit), next_use_(stages, kNever), in_row_(stages, false) {}

std::vector<LoweredAction> ResidencyPass::row(const std::vector<Action>& actions) {
  start(actions);
  std::vector<LoweredAction> result;
  result.reserve(actions.size() + actions.size() / 4);
  for (std::size_t position = 0; position < actions.size();) {
    rebalance(actions);
    write_changes(result);
    const std::size_t halves = actions[position].paired_with_next && position + 1 < actions.size() ? 2 : 1;
    for (std::size_t end = position + halves; position < end; ++position) {
      result.push_back(lowered(actions[position]));
      use(actions[position].stage, position);
    }
  }
  write_changes(result);
  return result;
}

void ResidencyPass::start(const std::vector<Action>& actions) {
  following_.assign(actions.size(), kNever);
  for (std::size_t position = actions.size(); position-- > 0;) {
    std::size_t& next = next_use_[static_cast<std::size_t>(actions[position].stage)];
    following_[position] = std::exchange(next, position);
  }
  for (std::size_t position = 0; position < actions.size(); ++position) {
    if (next_use_[static_cast<std::size_t>(actions[position].stage)] == position) {
      waiting_.emplace_hint(waiting_.end(), position, actions[position].stage);
    }
  }
}

/// Makes `resident_` the stages that are used next.
void ResidencyPass::rebalance(const std::vector<Action>& actions) {
  const auto is_wanted = [&](const Use& candidate) {
    return resident_.size() < limit_ || candidate < *resident_.rbegin() ||
           (resident_.size() == limit_ && are_one_pair(actions, resident_.rbegin()->first, candidate.first));
  };
  shrink(actions);
  while (!waiting_.empty() && is_wanted(*waiting_.begin())) {
    touched_.push_back(waiting_.begin()->second);
    resident_.insert(waiting_.extract(waiting_.begin()));
    shrink(actions);
  }
}

void ResidencyPass::shrink(const std::vector<Action>& actions) {
  while (resident_.size() > limit_) {
    const auto last = std::prev(resident_.end());
    if (resident_.size() == limit_ + 1 && are_one_pair(actions, std::prev(last)->first, last->first)) {
      return;
    }
    touched_.push_back(last->second);
    waiting_.insert(resident_.extract(last));
  }
}

/// Appends what changed: first the evictions in ascending order of stage, then the fetches in order of use.
void ResidencyPass::write_changes(std::vector<LoweredAction>& row) {
  if (touched_.empty()) {
    return;
  }
  std::sort(touched_.begin(), touched_.end());
  touched_.erase(std::unique(touched_.begin(), touched_.end()), touched_.end());
  std::vector<Use> fetched;
  for (const int stage : touched_) {
    const auto index = static_cast<std::size_t>(stage);
    const bool is_resident = next_use_[index] != kNever && resident_.contains({next_use_[index], stage});
    if (in_row_[index] && !is_resident) {
      row.push_back({.type = LoweredType::kReshard, .stage = stage});
    } else if (!in_row_[index] && is_resident) {
      fetched.emplace_back(next_use_[index], stage);
    }
    in_row_[index] = is_resident;
  }
  std::sort(fetched.begin(), fetched.end());
  for (const Use& use : fetched) {
    row.push_back({.type = LoweredType::kUnshard, .stage = use.second});
  }
  touched_.clear();
}

/// The stage, which is resident, has been used and waits for its next use.
void ResidencyPass::use(int stage, std::size_t position) {
  auto node = resident_.extract({position, stage});
  const std::size_t next = following_[position];
  next_use_[static_cast<std::size_t>(stage)] = next;
  if (next == kNever) {
    touched_.push_back(stage);
  } else {
    node.value().first = next;
    resident_.insert(std::move(node));
  }
}

}  // namespace lamina::schedule_tables
