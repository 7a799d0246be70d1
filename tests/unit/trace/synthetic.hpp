#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "sim/trace/job.hpp"

namespace lamina::trace::testing {

/// A job made up by recursion, independent of the product: who may start when, by the rules written here.
struct Synthetic {
  int ranks = 4;
  int chunks = 1;
  int micro_batches = 6;
  int number_step = 1;  ///< the trace calls its micro-batches 0, number_step, 2 number_step, ...
  bool batched = true;  ///< a receive is posted after the pass before it; the next pass waits for the send before it
  std::function<double(const Pass&)> compute_s = [](const Pass& pass) { return pass.backward ? 2.0 : 1.0; };
  std::function<double(const Pass&)> transfer_s = [](const Pass&) { return 0.0; };

  [[nodiscard]] int stages() const { return ranks * chunks; }

  /// Megatron-LM's order (Narayanan et al., arXiv 2104.04473, section 2.2): warm-up, one forward and one backward in
  /// turn, drain.
  [[nodiscard]] std::vector<Pass> order(int rank) const {
    const int total = micro_batches * chunks;
    const int fill = chunks == 1 ? ranks - 1 - rank : 2 * (ranks - 1 - rank) + (chunks - 1) * ranks;
    const int warm_up = std::min(fill, total);
    std::vector<Pass> result;
    for (int k = 0; k < total + warm_up; ++k) {
      if (k < total) {
        result.push_back(pass(false, k, rank));
      }
      if (k >= warm_up) {
        result.push_back(pass(true, k - warm_up, rank));
      }
    }
    return result;
  }

  /// k-th forward or backward of a rank: groups of `ranks` micro-batches pass its chunks in turn.
  [[nodiscard]] Pass pass(bool backward, int k, int rank) const {
    if (chunks == 1) {
      return {backward, rank, k};
    }
    const int chunk = (k / ranks) % chunks;
    return {backward, (backward ? chunks - 1 - chunk : chunk) * ranks + rank, k / (ranks * chunks) * ranks + k % ranks};
  }
};

/// When everything of a Synthetic happens, from 0.
class Clock {
 public:
  explicit Clock(const Synthetic& job) : job_(job) {
    for (int rank = 0; rank < job.ranks; ++rank) {
      std::optional<Pass> before;
      for (const Pass& pass : job.order(rank)) {
        before_[pass] = before;
        before = pass;
      }
    }
  }

  [[nodiscard]] std::optional<Pass> source(const Pass& pass) const { return neighbour(pass, pass.backward ? 1 : -1); }

  [[nodiscard]] std::optional<Pass> target(const Pass& pass) const { return neighbour(pass, pass.backward ? -1 : 1); }

  double end(const Pass& pass) {
    if (const auto known = ends_.find(pass); known != ends_.end()) {
      return known->second;
    }
    double start = 0;
    if (const auto before = before_.at(pass)) {
      start = end(*before);
      if (job_.batched && target(*before)) {
        start = std::max(start, arrival(*before));
      }
    }
    if (const auto from = source(pass)) {
      start = std::max(start, arrival(*from));
    }
    return ends_[pass] = start + job_.compute_s(pass);
  }

  /// Of the message that `pass` sends on.
  double arrival(const Pass& pass) {
    if (const auto known = arrivals_.find(pass); known != arrivals_.end()) {
      return known->second;
    }
    double start = end(pass);
    if (const auto posted = before_.at(*target(pass)); job_.batched && posted) {
      start = std::max(start, end(*posted));
    }
    return arrivals_[pass] = start + job_.transfer_s(pass);
  }

  [[nodiscard]] std::optional<Pass> before(const Pass& pass) const { return before_.at(pass); }

  double makespan() {
    double last = 0;
    for (const auto& [pass, before] : before_) {
      last = std::max(last, end(pass));
    }
    return last;
  }

 private:
  [[nodiscard]] std::optional<Pass> neighbour(const Pass& pass, int step) const {
    const int stage = pass.stage + step;
    return stage < 0 || stage >= job_.stages() ? std::nullopt
                                               : std::optional(Pass{pass.backward, stage, pass.micro_batch});
  }

  Synthetic job_;
  std::map<Pass, std::optional<Pass>> before_;
  std::map<Pass, double> ends_;
  std::map<Pass, double> arrivals_;
};

inline constexpr const char* kHeader = "dp_rank,stage,rank,step,optype,start_ts,duration,seq_id,mc,mb_id,gmc\n";

/// Rows of one replica in one step, as the trace of such a job has them: a receive is posted after the pass before it
/// and contains the waiting. `idle_ends`: also the sends and receives at the ends of the model, which never happen.
[[nodiscard]] inline std::string rows(const Synthetic& job, int step = 0, int replica = 0, double offset_s = 0,
                                      bool idle_ends = false) {
  Clock clock(job);
  std::string text;
  for (int rank = 0; rank < job.ranks; ++rank) {
    std::map<std::string, int> numbers;
    const auto row = [&](const std::string& type, double start, double end, int chunk, int micro_batch) {
      text += fmt::format("{},{},{},{},{},{},{},{},{},{},{}\n", replica, rank, rank, step, type, offset_s + start,
                          end - start, numbers[type]++, chunk, micro_batch,
                          micro_batch < 0 ? -1 : chunk * job.ranks + rank);
    };
    for (const Pass& pass : job.order(rank)) {
      const std::string name = pass.backward ? "backward" : "forward";
      const double end = clock.end(pass);
      const auto before = clock.before(pass);
      double posted = before ? clock.end(*before) : 0;
      if (const auto from = clock.source(pass); from || idle_ends) {
        posted = from && !job.batched ? std::min(posted, clock.arrival(*from) - job.transfer_s(*from)) : posted;
        row(name + "-recv", posted, from ? std::max(posted, clock.arrival(*from)) : posted, -1, -1);
      }
      row(name + "-compute", end - job.compute_s(pass), end, pass.stage / job.ranks,
          pass.micro_batch * job.number_step);
      if (const auto to = clock.target(pass); to || idle_ends) {
        row(name + "-send", end, to ? clock.arrival(pass) : end, -1, -1);
      }
    }
  }
  return text;
}

}  // namespace lamina::trace::testing
