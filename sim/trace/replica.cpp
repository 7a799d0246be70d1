#include "sim/trace/replica.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace lamina::trace {
namespace {

/// Clocks of two workers, and of a worker's compute and communication, agree to this.
constexpr double kClockSlack_s = 5e-4;

std::size_t index(int number) {
  return static_cast<std::size_t>(number);
}

std::size_t index(EventKind kind) {
  return static_cast<std::size_t>(kind);
}

/// By the trace's own numbers where they tell the events apart, else by start.
void sort_as_issued(std::vector<Event>& events) {
  std::set<std::int64_t> numbers;
  const bool numbered = std::all_of(events.begin(), events.end(), [&numbers](const Event& event) {
    return event.sequence >= 0 && numbers.insert(event.sequence).second;
  });
  std::stable_sort(events.begin(), events.end(), [numbered](const Event& a, const Event& b) {
    return numbered ? a.sequence < b.sequence : a.start_s < b.start_s;
  });
}

class Assembler {
 public:
  Assembler(std::vector<RankEvents> ranks, int chunks)
      : ranks_(std::move(ranks)), pipeline_ranks_(static_cast<int>(ranks_.size())), stages_(pipeline_ranks_ * chunks) {}

  tl::expected<MeasuredReplica, std::string> run() {
    for (RankEvents& rank : ranks_) {
      std::for_each(rank.begin(), rank.end(), sort_as_issued);
    }
    std::string problem = number_micro_batches();
    for (int rank = 0; rank < pipeline_ranks_ && problem.empty(); ++rank) {
      problem = take_passes(rank);
    }
    for (int rank = 0; rank < pipeline_ranks_ && problem.empty(); ++rank) {
      problem = take_messages(rank);
    }
    if (!problem.empty()) {
      return tl::unexpected(std::move(problem));
    }
    measure();
    if (result_.pipeline_s() <= 0) {
      return tl::unexpected(std::string("no time between the first forward and the last backward"));
    }
    return std::move(result_);
  }

 private:
  using Found = std::vector<std::optional<Event>>;  ///< by PassTable::index

  [[nodiscard]] const std::vector<Event>& events(int rank, EventKind kind) const {
    return ranks_[index(rank)][index(kind)];
  }

  std::string number_micro_batches() {
    for (const Event& event : events(0, EventKind::kForward)) {
      if (event.chunk == 0) {
        micro_batches_.push_back(event.micro_batch);
      }
    }
    std::sort(micro_batches_.begin(), micro_batches_.end());
    micro_batches_.erase(std::unique(micro_batches_.begin(), micro_batches_.end()), micro_batches_.end());
    if (micro_batches_.empty()) {
      return "no forward on pipeline rank 0";
    }
    const PassTable table(stages_, static_cast<int>(micro_batches_.size()));
    result_.times = {table, table};
    result_.order.resize(ranks_.size());
    passes_.resize(table.size());
    sends_.resize(table.size());
    receives_.resize(table.size());
    return "";
  }

  std::string take_passes(int rank) {
    std::vector<std::pair<Pass, Event>> order;
    for (const EventKind kind : {EventKind::kForward, EventKind::kBackward}) {
      for (const Event& event : events(rank, kind)) {
        const auto number = std::lower_bound(micro_batches_.begin(), micro_batches_.end(), event.micro_batch);
        const bool backward = kind == EventKind::kBackward;
        if (number == micro_batches_.end() || *number != event.micro_batch) {
          return fmt::format("{} of micro-batch {} on pipeline rank {}, which rank 0 does not compute",
                             backward ? "backward" : "forward", event.micro_batch, rank);
        }
        const Pass pass{backward, event.chunk * pipeline_ranks_ + rank,
                        static_cast<int>(number - micro_batches_.begin())};
        std::optional<Event>& found = passes_[result_.times.compute.index(pass)];
        if (found) {
          return fmt::format("{} twice", describe(pass));
        }
        found = event;
        result_.times.compute.at(pass) = event.duration_s;
        order.emplace_back(pass, event);
      }
    }
    std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
      return std::pair(a.second.start_s, a.second.end_s()) < std::pair(b.second.start_s, b.second.end_s());
    });
    for (const auto& [pass, event] : order) {
      result_.order[index(rank)].push_back(pass);
    }
    return missing_pass(rank);
  }

  [[nodiscard]] std::string missing_pass(int rank) const {
    for (const bool backward : {false, true}) {
      for (int stage = rank; stage < stages_; stage += pipeline_ranks_) {
        for (int micro_batch = 0; micro_batch < result_.times.compute.micro_batches(); ++micro_batch) {
          const Pass pass{backward, stage, micro_batch};
          if (!passes_[result_.times.compute.index(pass)]) {
            return fmt::format("no {}", describe(pass));
          }
        }
      }
    }
    return "";
  }

  /// Stage that a pass takes its input from (`step` -1) or hands its output to (`step` 1); -1: none.
  [[nodiscard]] int neighbour(const Pass& pass, int step) const {
    const int stage = pass.stage + (pass.backward ? -step : step);
    return pipeline_ranks_ == 1 || stage >= stages_ ? -1 : stage;
  }

  std::string take_messages(int rank) {
    struct Direction {
      EventKind kind;
      bool backward;
      bool sends;
      const char* name;
    };

    for (const Direction& direction : {Direction{EventKind::kForwardSend, false, true, "forward-send"},
                                       Direction{EventKind::kForwardReceive, false, false, "forward-recv"},
                                       Direction{EventKind::kBackwardSend, true, true, "backward-send"},
                                       Direction{EventKind::kBackwardReceive, true, false, "backward-recv"}}) {
      std::vector<Pass> passes;
      std::copy_if(result_.order[index(rank)].begin(), result_.order[index(rank)].end(), std::back_inserter(passes),
                   [&](const Pass& pass) { return pass.backward == direction.backward; });
      const std::string problem = match(events(rank, direction.kind), passes, direction.sends);
      if (!problem.empty()) {
        return fmt::format("pipeline rank {}: {} {}", rank, direction.name, problem);
      }
    }
    return "";
  }

  /// `passes`: all of one direction on a rank, in order.
  std::string match(std::vector<Event> events, std::vector<Pass> passes, bool sends) {
    const auto is_end = [&](const Pass& pass) { return neighbour(pass, sends ? 1 : -1) < 0; };
    const auto real = passes.size() - static_cast<std::size_t>(std::count_if(passes.begin(), passes.end(), is_end));
    if (events.size() > real) {
      drop_outside(events, passes, sends);
    }
    if (events.size() == real) {
      std::erase_if(passes, is_end);
    } else if (!sends && events.size() + 1 == passes.size() && is_end(passes.front())) {
      passes.erase(passes.begin());  // the first receive is not even recorded
    }
    if (events.size() != passes.size()) {
      return fmt::format("occurs {} times for {} messages", events.size(), real);
    }
    for (std::size_t i = 0; i < passes.size(); ++i) {
      if (!is_end(passes[i])) {
        (sends ? sends_ : receives_)[result_.times.compute.index(passes[i])] = events[i];
      }
    }
    return "";
  }

  /// Receives after the last pass that could need them, sends before the first that could have made them.
  void drop_outside(std::vector<Event>& events, const std::vector<Pass>& passes, bool sends) const {
    double first_end = std::numeric_limits<double>::infinity();
    double last_start = -first_end;
    for (const Pass& pass : passes) {
      const Event& event = *passes_[result_.times.compute.index(pass)];
      first_end = std::min(first_end, event.end_s());
      last_start = std::max(last_start, event.start_s);
    }
    std::erase_if(events, [&](const Event& event) {
      return sends ? event.end_s() < first_end - kClockSlack_s : event.start_s > last_start + kClockSlack_s;
    });
  }

  void measure() {
    const PassTable& table = result_.times.compute;
    result_.start_s = std::numeric_limits<double>::infinity();
    result_.end_s = -result_.start_s;
    for (const std::vector<Pass>& order : result_.order) {
      double gaps = 0;
      for (std::size_t i = 0; i < order.size(); ++i) {
        const Event& event = *passes_[table.index(order[i])];
        if (order[i].backward) {
          result_.end_s = std::max(result_.end_s, event.end_s());
        } else {
          result_.start_s = std::min(result_.start_s, event.start_s);
        }
        if (i > 0) {
          gaps += std::max(0.0, event.start_s - busy_until(order[i - 1], order[i]));
        }
        if (const int next = neighbour(order[i], 1); next >= 0) {
          const Pass consumer{order[i].backward, next, order[i].micro_batch};
          result_.times.transfer.at(order[i]) =
              std::min(sends_[table.index(order[i])]->duration_s, receives_[table.index(consumer)]->duration_s);
        }
      }
      result_.gap_s.push_back(gaps);
    }
  }

  /// End of the last of: the pass before, its send unless it goes on beside the next pass, and the receive of the next.
  [[nodiscard]] double busy_until(const Pass& before, const Pass& next) const {
    const PassTable& table = result_.times.compute;
    double end = passes_[table.index(before)]->end_s();
    const std::optional<Event>& send = sends_[table.index(before)];
    if (send && send->end_s() <= passes_[table.index(next)]->start_s + kClockSlack_s) {
      end = std::max(end, send->end_s());
    }
    const std::optional<Event>& receive = receives_[table.index(next)];
    return receive ? std::max(end, receive->end_s()) : end;
  }

  std::vector<RankEvents> ranks_;
  int pipeline_ranks_ = 0;
  int stages_ = 0;
  std::vector<std::int64_t> micro_batches_;  ///< as the trace numbers them, ascending
  Found passes_;
  Found sends_;     ///< by the pass that sends
  Found receives_;  ///< by the pass that receives
  MeasuredReplica result_;
};

}  // namespace

tl::expected<MeasuredReplica, std::string> assemble_replica(std::vector<RankEvents> ranks, int chunks) {
  return Assembler(std::move(ranks), chunks).run();
}

}  // namespace lamina::trace
