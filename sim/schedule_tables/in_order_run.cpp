#include "sim/schedule_tables/in_order_run.hpp"

#include <algorithm>
#include <queue>
#include <utility>

#include <fmt/format.h>

namespace lamina::schedule_tables {
namespace {

class InOrderRun {
 public:
  explicit InOrderRun(const InOrderRows& rows)
      : rows_(rows), done_(rows.lengths.size(), 0), waiting_(rows.lengths.size()), waits_for_(rows.lengths.size()) {}

  void run() {
    for (int rank = 0; rank < static_cast<int>(done_.size()); ++rank) {
      ready_.push_back(rank);
    }
    while (!ready_.empty()) {
      const int rank = ready_.back();
      ready_.pop_back();
      advance(rank);
      wake_those_waiting_for(rank);
    }
  }

  [[nodiscard]] std::vector<Wait> cycle() const {
    int rank = 0;
    while (static_cast<std::size_t>(rank) < done_.size() && is_finished(rank)) {
      ++rank;
    }
    if (static_cast<std::size_t>(rank) == done_.size()) {
      return {};
    }
    // Whoever a stuck rank waits for is stuck, so that following them comes back.
    std::vector<bool> seen(done_.size(), false);
    while (!seen[index(rank)]) {
      seen[index(rank)] = true;
      rank = waits_for_[index(rank)].rank;
    }
    std::vector<Wait> cycle;
    for (int next = rank; cycle.empty() || next != rank; next = waits_for_[index(next)].rank) {
      cycle.push_back({{next, done_[index(next)]}, waits_for_[index(next)]});
    }
    std::rotate(cycle.begin(),
                std::min_element(cycle.begin(), cycle.end(),
                                 [](const Wait& a, const Wait& b) { return a.at.rank < b.at.rank; }),
                cycle.end());
    return cycle;
  }

 private:
  struct Waiter {
    std::size_t position = 0;  ///< that it waits for
    int rank = 0;

    bool operator>(const Waiter& other) const { return position > other.position; }
  };

  static std::size_t index(int rank) { return static_cast<std::size_t>(rank); }

  [[nodiscard]] bool is_finished(int rank) const { return done_[index(rank)] == rows_.lengths[index(rank)]; }

  [[nodiscard]] bool is_done(const Place& place) const { return place.position < done_[index(place.rank)]; }

  void advance(int rank) {
    std::size_t& done = done_[index(rank)];
    while (!is_finished(rank)) {
      const Place at{rank, done};
      needs_.clear();
      rows_.needs(at, needs_);
      const auto missing =
          std::find_if(needs_.begin(), needs_.end(), [&](const Place& needed) { return !is_done(needed); });
      if (missing != needs_.end()) {
        waits_for_[index(rank)] = *missing;
        waiting_[index(missing->rank)].push({missing->position, rank});
        return;
      }
      done += rows_.is_paired(at) ? 2U : 1U;
    }
  }

  void wake_those_waiting_for(int rank) {
    auto& waiting = waiting_[index(rank)];
    while (!waiting.empty() && waiting.top().position < done_[index(rank)]) {
      ready_.push_back(waiting.top().rank);
      waiting.pop();
    }
  }

  const InOrderRows& rows_;
  std::vector<std::size_t> done_;                                                          ///< actions, by rank
  std::vector<std::priority_queue<Waiter, std::vector<Waiter>, std::greater<>>> waiting_;  ///< by whom they wait for
  std::vector<Place> waits_for_;                                                           ///< by who waits
  std::vector<int> ready_;
  std::vector<Place> needs_;
};

}  // namespace

std::vector<Wait> find_cycle_of_waits(const InOrderRows& rows) {
  InOrderRun run(rows);
  run.run();
  return run.cycle();
}

std::string describe_cycle(const InOrderRows& rows, const std::vector<Wait>& cycle,
                           const std::function<std::string(const Place&)>& name) {
  constexpr std::size_t kMostRanks = 12;
  const auto head = [&](const Place& at) {
    return rows.is_paired(at) ? fmt::format("{} paired with {}", name(at), name({at.rank, at.position + 1})) : name(at);
  };
  const Wait& first = cycle.front();
  std::string text = fmt::format("Rank {} is at {}", first.at.rank, head(first.at));
  if (cycle.size() == 1) {
    return fmt::format("{} and waits for {}, which comes later in its own row.", text, name(first.for_action));
  }
  for (std::size_t i = 0; i < cycle.size(); ++i) {
    text += fmt::format(" and waits for {} of rank {}", name(cycle[i].for_action), cycle[i].for_action.rank);
    if (i + 1 == kMostRanks && i + 1 < cycle.size()) {
      text += fmt::format(", and so on through {} more ranks back to rank {}", cycle.size() - i - 1, first.at.rank);
      break;
    }
    if (i + 1 < cycle.size()) {
      text += fmt::format(", which is at {}", head(cycle[i + 1].at));
    }
  }
  return fmt::format("{}. None of them can go on.", text);
}

}  // namespace lamina::schedule_tables
