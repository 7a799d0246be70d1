#include "sim/trace/comparison.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "sim/replay/replay.hpp"
#include "sim/scenario/fault.hpp"
#include "sim/trace/schedule_order.hpp"
#include "sim/trace/summary.hpp"
#include "sim/trace/what_if.hpp"

namespace lamina::trace {
namespace {

std::size_t index(int number) {
  return static_cast<std::size_t>(number);
}

using Tables = std::map<int, schedules::ScheduleTable>;  ///< by micro-batches

/// First start to last end of one lane's passes.
struct Extent {
  double start = std::numeric_limits<double>::infinity();
  double end = 0;

  [[nodiscard]] double length() const { return end - start; }
};

class Comparer {
 public:
  Comparer(const Job& job, const Tables& tables, PointToPoint messages)
      : job_(job), tables_(tables), messages_(messages) {}

  [[nodiscard]] StepComparison step(const MeasuredStep& measured) {
    const std::vector<Times> same = times_of(measured);
    const std::vector<Times> alike = without_stragglers(measured.replicas);
    const std::vector<Times> even = balanced(measured.replicas);
    std::vector<Lane> lanes;
    for (const std::vector<Times>* variant : {&same, &alike, &even}) {
      for (const Times& times : *variant) {
        lanes.push_back({&tables_.at(times.compute.micro_batches()), &times});
      }
    }
    const LaidOut laid_out = lay_out(lanes, job_.pipeline_ranks, messages_);
    const timeline::Timeline timeline = replay::replay(laid_out.graph, laid_out.deployment, {.record_flows = false});
    activities_ += timeline.activities;

    StepComparison result{.step = measured.step, .replicas = {}};
    const std::size_t replicas = measured.replicas.size();
    for (std::size_t i = 0; i < replicas; ++i) {
      result.replicas.push_back(replica(measured.replicas[i], extent(laid_out, timeline, i).length()));
      result.measured_s = std::max(result.measured_s, result.replicas.back().measured_s);
      result.replayed_s = std::max(result.replayed_s, result.replicas.back().replayed_s);
      result.without_stragglers_s =
          std::max(result.without_stragglers_s, extent(laid_out, timeline, replicas + i).length());
      result.balanced_s = std::max(result.balanced_s, extent(laid_out, timeline, 2 * replicas + i).length());
    }
    compare_order(measured, result);
    return result;
  }

  [[nodiscard]] std::vector<OrderDifference> take_differences() { return std::move(differences_); }

  [[nodiscard]] std::int64_t activities() const { return activities_; }

 private:
  static std::vector<Times> times_of(const MeasuredStep& measured) {
    std::vector<Times> result;
    for (const MeasuredReplica& replica : measured.replicas) {
      result.push_back(replica.times);
    }
    return result;
  }

  [[nodiscard]] Extent extent(const LaidOut& laid_out, const timeline::Timeline& timeline, std::size_t lane) const {
    Extent result;
    for (std::size_t program = lane * index(job_.pipeline_ranks); program < (lane + 1) * index(job_.pipeline_ranks);
         ++program) {
      for (const std::uint32_t pass : laid_out.passes[program]) {
        result.start = std::min(result.start, timeline.spans[program][pass].start);
        result.end = std::max(result.end, timeline.spans[program][pass].end);
      }
    }
    return result;
  }

  [[nodiscard]] static ReplicaComparison replica(const MeasuredReplica& measured, double replayed_s) {
    ReplicaComparison result{
        .replica = measured.replica, .measured_s = measured.pipeline_s(), .replayed_s = replayed_s, .ranks = {}};
    for (std::size_t rank = 0; rank < measured.order.size(); ++rank) {
      RankComparison compared;
      for (const Pass& pass : measured.order[rank]) {
        compared.compute_s += measured.times.compute.at(pass);
      }
      compared.measured_idle_s = result.measured_s - compared.compute_s;
      compared.measured_gap_s = measured.gap_s[rank];
      compared.replayed_idle_s = replayed_s - compared.compute_s;
      result.ranks.push_back(compared);
    }
    return result;
  }

  void compare_order(const MeasuredStep& measured, StepComparison& result) {
    for (std::size_t i = 0; i < measured.replicas.size(); ++i) {
      const MeasuredReplica& replica = measured.replicas[i];
      const auto& rows = tables_.at(replica.times.compute.micro_batches()).actions;
      for (std::size_t rank = 0; rank < rows.size(); ++rank) {
        const std::vector<Pass>& order = replica.order[rank];
        const auto [pass, action] =
            std::mismatch(order.begin(), order.end(), rows[rank].begin(), rows[rank].end(),
                          [](const Pass& a, const schedules::Action& b) { return a == pass_of(b); });
        if (pass != order.end() && action != rows[rank].end()) {
          result.replicas[i].ranks[rank].same_order = false;
          differences_.push_back({measured.step, replica.replica, static_cast<int>(rank),
                                  static_cast<std::size_t>(pass - order.begin()), *pass, pass_of(*action)});
        }
      }
    }
  }

  const Job& job_;
  const Tables& tables_;
  PointToPoint messages_;
  std::vector<OrderDifference> differences_;
  std::int64_t activities_ = 0;
};

tl::expected<Tables, error::Infeasible> make_tables(const Job& job,
                                                    const catalog::Catalog<schedules::Schedule>& schedules,
                                                    const std::string& schedule) {
  Tables tables;
  for (const MeasuredStep& step : job.steps) {
    for (const MeasuredReplica& replica : step.replicas) {
      const int micro_batches = replica.times.compute.micro_batches();
      if (tables.contains(micro_batches)) {
        continue;
      }
      auto table = table_for(schedules, schedule, job, micro_batches);
      if (!table) {
        return tl::unexpected(table.error());
      }
      tables.emplace(micro_batches, std::move(*table));
    }
  }
  return tables;
}

/// Names the cycle if some order deadlocks with these messages.
std::string deadlock(const Job& job, const Tables& tables, PointToPoint messages) {
  for (const auto& [micro_batches, table] : tables) {
    const PassTable zeros(job.stages(), micro_batches);
    const Times times{zeros, zeros};
    std::string found = graph::find_deadlock(lay_out({{&table, &times}}, job.pipeline_ranks, messages).graph);
    if (!found.empty()) {
      return found;
    }
  }
  return "";
}

tl::expected<PointToPoint, error::Infeasible> choose_messages(const Job& job, const Tables& tables, Messages wanted) {
  if (wanted != Messages::kSeparateStreams) {
    const std::string found = deadlock(job, tables, PointToPoint::kFusedRendezvous);
    if (found.empty()) {
      return PointToPoint::kFusedRendezvous;
    }
    if (wanted == Messages::kFusedRendezvous) {
      return tl::unexpected(
          error::Infeasible{fmt::format("With messages in fused_rendezvous this order deadlocks: {}", found)});
    }
  }
  const std::string found = deadlock(job, tables, PointToPoint::kSeparateStreams);
  if (!found.empty()) {
    return tl::unexpected(error::Infeasible{fmt::format("This order deadlocks: {}", found)});
  }
  return PointToPoint::kSeparateStreams;
}

void check_steps(const Job& job) {
  if (!job.steps.empty()) {
    return;
  }
  const Skipped& first = job.skipped.front();
  scenario::fail({job.file, 0, 0}, "",
                 {.problem = fmt::format("No replica is complete in any step ({} were looked at).", job.skipped.size()),
                  .read = fmt::format("step {}, replica {}: {}", first.step, first.replica, first.reason),
                  .allowed = "every forward, backward, send and receive of all pipeline ranks of a replica"});
}

}  // namespace

tl::expected<Comparison, error::Infeasible> compare(const Job& job,
                                                    const catalog::Catalog<schedules::Schedule>& schedules,
                                                    const CompareOptions& options) {
  check_steps(job);
  Comparison result;
  result.schedule = options.schedule.empty() ? usual_schedule(job) : options.schedule;
  const auto tables = make_tables(job, schedules, result.schedule);
  if (!tables) {
    return tl::unexpected(tables.error());
  }
  const auto messages = choose_messages(job, *tables, options.messages);
  if (!messages) {
    return tl::unexpected(messages.error());
  }
  result.file = job.file;
  result.messages = *messages;
  result.pipeline_ranks = job.pipeline_ranks;
  result.chunks = job.chunks;
  result.replicas = job.replicas;
  result.fewest_micro_batches = tables->begin()->first;
  result.most_micro_batches = tables->rbegin()->first;
  result.skipped = job.skipped;
  Comparer comparer(job, *tables, *messages);
  for (const MeasuredStep& step : job.steps) {
    result.steps.push_back(comparer.step(step));
    for (const MeasuredReplica& replica : step.replicas) {
      result.passes += static_cast<std::int64_t>(replica.times.compute.size());
    }
  }
  result.order_differences = comparer.take_differences();
  result.activities = comparer.activities();
  summarise(job, result);
  return result;
}

}  // namespace lamina::trace
