#include "sim/trace/summary.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "sim/trace/what_if.hpp"

namespace lamina::trace {
namespace {

/// Median over all steps of what `value` says of each.
template <class Value>
double median_of_steps(const Comparison& comparison, Value value) {
  std::vector<double> values;
  for (const StepComparison& step : comparison.steps) {
    values.push_back(value(step));
  }
  return median(std::move(values));
}

template <class Value>
double median_of_rank(const Comparison& comparison, std::size_t rank, Value value) {
  std::vector<double> values;
  for (const StepComparison& step : comparison.steps) {
    for (const ReplicaComparison& replica : step.replicas) {
      values.push_back(value(replica.ranks[rank]));
    }
  }
  return median(std::move(values));
}

/// Median time of a micro-batch in one direction through all chunks of a rank.
double median_pass(const Job& job, int rank, bool backward) {
  std::vector<double> values;
  for (const MeasuredStep& step : job.steps) {
    for (const MeasuredReplica& replica : step.replicas) {
      const PassTable& compute = replica.times.compute;
      for (int micro_batch = 0; micro_batch < compute.micro_batches(); ++micro_batch) {
        double sum = 0;
        for (int stage = rank; stage < job.stages(); stage += job.pipeline_ranks) {
          sum += compute.at({backward, stage, micro_batch});
        }
        values.push_back(sum);
      }
    }
  }
  return median(std::move(values));
}

void summarise_stages(const Job& job, Comparison& comparison) {
  for (int rank = 0; rank < job.pipeline_ranks; ++rank) {
    const auto of_rank = [&](double RankComparison::*member) {
      return median_of_rank(comparison, static_cast<std::size_t>(rank),
                            [member](const RankComparison& compared) { return compared.*member; });
    };
    comparison.stages.push_back({.forward_s = median_pass(job, rank, false),
                                 .backward_s = median_pass(job, rank, true),
                                 .compute_s = of_rank(&RankComparison::compute_s),
                                 .measured_idle_s = of_rank(&RankComparison::measured_idle_s),
                                 .measured_gap_s = of_rank(&RankComparison::measured_gap_s),
                                 .replayed_idle_s = of_rank(&RankComparison::replayed_idle_s)});
  }
  const auto most = std::max_element(comparison.stages.begin(), comparison.stages.end(),
                                     [](const auto& a, const auto& b) { return a.compute_s < b.compute_s; });
  comparison.critical_rank = static_cast<int>(most - comparison.stages.begin());
}

/// Compute of replica i at a rank over the median of the step's other replicas.
double ratio_to_peers(const StepComparison& step, std::size_t i, std::size_t rank) {
  std::vector<double> peers;
  for (std::size_t other = 0; other < step.replicas.size(); ++other) {
    if (other != i) {
      peers.push_back(step.replicas[other].ranks[rank].compute_s);
    }
  }
  const double usual = median(std::move(peers));
  return usual > 0 ? step.replicas[i].ranks[rank].compute_s / usual : 1;
}

void find_straggler(Comparison& comparison) {
  std::map<std::pair<int, int>, std::vector<double>> ratios;  // by replica and rank
  for (const StepComparison& step : comparison.steps) {
    for (std::size_t i = 0; i < step.replicas.size() && step.replicas.size() > 1; ++i) {
      for (std::size_t rank = 0; rank < step.replicas[i].ranks.size(); ++rank) {
        ratios[{step.replicas[i].replica, static_cast<int>(rank)}].push_back(ratio_to_peers(step, i, rank));
      }
    }
  }
  for (auto& [worker, values] : ratios) {
    const double ratio = median(std::move(values));
    if (comparison.straggler.replica < 0 || ratio > comparison.straggler.ratio) {
      comparison.straggler = {.replica = worker.first, .rank = worker.second, .ratio = ratio};
    }
  }
}

}  // namespace

void summarise(const Job& job, Comparison& comparison) {
  comparison.median_error = median_of_steps(comparison, [](const auto& step) { return step.relative_error(); });
  comparison.median_absolute_error =
      median_of_steps(comparison, [](const auto& step) { return std::abs(step.relative_error()); });
  const auto worst = std::max_element(
      comparison.steps.begin(), comparison.steps.end(),
      [](const auto& a, const auto& b) { return std::abs(a.relative_error()) < std::abs(b.relative_error()); });
  comparison.worst_step = static_cast<std::size_t>(worst - comparison.steps.begin());
  comparison.stragglers_cost =
      median_of_steps(comparison, [](const auto& step) { return step.replayed_s / step.without_stragglers_s - 1; });
  comparison.imbalance_cost =
      median_of_steps(comparison, [](const auto& step) { return step.without_stragglers_s / step.balanced_s - 1; });
  summarise_stages(job, comparison);
  find_straggler(comparison);
}

}  // namespace lamina::trace
